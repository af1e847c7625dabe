/**
 * Well-known passwords of at least eight characters, in lower case: from the head of the frequency count of Mark
 * Burnett's ten million leaked passwords (2015, public domain), and further sequences, keyboard patterns, years and
 * Italian words of the same kinds. The list is far from complete.
 */
const WELL_KNOWN = `
  !qaz2wsx 00000000 0000000000 01011970 01011980 01011985 01011990 01011991 01012000 01012001 01012010 01012011 01234567
  012345678 0123456789 0987654321 10101010 10203040 1020304050 1029384756 11111111 1111111111 11111111a 11112222
  111222333 11223344 1122334455 112233445566 11235813 1123581321 12121212 12312312 123123123 123123123a 123321123
  12341234 123412345 12344321 1234512345 123454321 1234554321 123456123 123456123456 12345678 12345678! 123456789
  1234567890 12345678901 123456789012 1234567890a 1234567890q 1234567891 12345678910 123456789a 123456789abc 123456789q
  123456789z 12345678a 1234567a 1234567q 123456aa 123456abc 123456qwe 123456qwerty 12345qwert 1234abcd 1234qwer
  123654789 12369874 123698745 123789456 123abc123 123qwe123 123qweasd 123qweasdzxc 12qwaszx 13579246 135792468
  1357924680 147147147 147258369 147852369 14789632 147896325 159753456 1597534682 192837465 1a2b3c4d 1q2w3e4r
  1q2w3e4r5t 1q2w3e4r5t6y 1qaz!qaz 1qaz2wsx 1qaz2wsx3edc 1qaz@wsx 1qazxsw2 20002000 20202020 22222222 24681012 246813579
  25802580 31415926 33333333 44444444 456789123 4815162342 55555555 66666666 741852963 77777777 789456123 87654321
  876543210 88888888 963852741 987654321 9876543210 99999999 a1234567 a12345678 a123456789 a1b2c3d4 a1s2d3f4 aa123123
  aa123456 aa12345678 aardvark abc123456 abc123456789 abc123abc abcabc123 abcd1234 abcd12345 abcdefgh abcdefghi
  abcdefghij aberdeen achilles admin123 admin1234 admin12345 adminadmin administrator agent007 agostino airborne
  airforce airplane alejandro aleksandr alessandra alessandra1 alessandro alessandro1 alessia1 alessio1 alexandr
  amore123 amore1234 amoreamore amoremio amoremio1 amsterdam andrea12 andrea123 annamaria annarita anthony1 antonella
  antonella1 antonietta antonino antonio1 apollo13 aquarius arsenal1 arsenal123 asdasd123 asdasdasd asdf1234 asdf12345
  asdfasdf asdfgh123 asdfghjk asdfghjkl asdfghjkl1 asdfghjkl123 ashley123 asroma1927 assassin atlantis autumn2024
  azsxdcfv babydoll babygirl babylon5 barbara1 barcelona barcelona1 baseball baseball1 batman123 beatrice bellissima
  bellissimo benedetta benedetto benjamin benvenuti benvenuto bigdaddy bigmoney billybob billyboy blackcat blackdog
  blahblah blink182 blizzard bluebird blueeyes bluemoon bobafett bologna1 bologna123 brandon1 brooklyn brucelee buckeyes
  bulldogs buonanotte buonasera buongiorno butterfly cadillac cagnolino cambiami cambiami1 cambiami123 candyman cardinal
  carolina catania1 caterina catherine cavalier cdtnkfyf champion changeit changeme changeme1 changeme123 chargers
  charlie1 charlie123 charlotte charlton chelsea1 chelsea123 cherokee chevelle cheyenne chiara123 christian christina
  christine christopher ciao1234 ciao12345 ciaoatutti ciaobella ciaociao ciaociao1 ciaociao123 cioccolato cjkysirj
  clarence claudia1 claudio1 clifford cocacola colombia colorado coltrane commando computer computer1 computer123
  concrete contraseña cooldude corvette costanza cosworth cowboys1 creative cristian cristiano cristina cristina1
  crusader daniel123 daniela1 daniele1 daniele123 danielle dannyboy darkness darkside darkstar dbrnjhbz deadhead
  default1 default123 defender deftones demo1234 demodemo designer devildog diamond1 diamonds dicembre dietcoke
  dimenticata dingdong discover dkflbvbh doberman dolphins domenica domenico dragon123 drowssap drpepper dthjybrf
  einstein ekaterina electric elephant elisabetta elizabeth emanuela emanuele engineer enterprise estate2023 estate2024
  estate2025 eternity explorer fabrizio facebook facebook1 facebook123 famiglia famiglia1 farfalla farfalla1 federica
  federica1 federico federico1 fernando ferrari1 ferrari458 fiorentina fireball firebird firenze1 fktrcfylh flamingo
  florence football football1 formula1 fortnite fortnite1 forzainter forzajuve forzajuve1 forzamilan forzanapoli
  forzanapoli1 forzaroma fragola1 francesca francesca1 francesco francesco1 francisco freckles frederick fredrick
  freedom1 freepass frontier fyfcnfcbz gabriele gabriella gangster garfield garibaldi gateway1 gattino1 george123
  geraldine geronimo ghbdtnbr giancarlo gianfranco gianluca gianluca1 gianmarco giovanna giovanni giovanni1 giulia123
  giuliana giuliano giuseppe giuseppe1 godsmack godzilla goldfish golfball goodluck goodmorning goodtime google123
  gordon24 greenbay greenday guardian guest123 guinness halflife hallo123 hannibal heather1 hellfire hello123 hello1234
  hellohello hellokitty helloworld hercules highland hongkong hunter123 icecream ihateyou iloveyou iloveyou! iloveyou1
  iloveyou2 immortal infiniti infinity instagram inter1908 internet internet1 inverno2024 iphone123 italia123 italia2006
  italia90 jackson1 jacqueline jamesbon jennifer jennifer1 jeremiah jessica1 jessica123 jonathan jordan123 jordan23
  josephine justdoit juventus juventus1 juventus1897 kamikaze kangaroo katerina katherine kathleen kawasaki keyboard
  keystone killer123 kimberly kingkong kingston kittycat labrador lacrosse lancelot laptop123 lasvegas lawrence leonardo
  leonardo1 letmein1 letmein12 letmein123 letmein2 lifehack linkedin liverpool liverpool1 lkjhgfdsa logitech lol12345
  lollipop lonestar lonewolf longhorn loredana lorenzo1 lorraine love1234 lovelove loveme123 loverboy loveyou1
  loveyou123 lowrider luca1234 luckydog macdaddy makaveli mamma123 mammaepapa mammamia mammamia1 manchester manutd123
  marathon marco123 marco1234 margaret margherita mariagrazia mariarosa mariateresa mariners marjorie marlboro martina1
  martina123 massimiliano massimo1 master123 matteo123 matthew1 maurizio maverick meatball megadeth melissa1 mercedes
  meridian metallic metallica michael1 michael123 michela1 michelle michelle1 michigan mickey123 microsoft microsoft1
  midnight milan1899 milano123 minecraft minecraft1 minecraft123 mistress mnbvcxz1 mongoose monkey123 monopoly montreal
  morpheus motdepasse motorola mountain munchkin mushroom musicman mustang1 mustangs mypassword napoli123 napoli1926
  naruto123 nathaniel ncc1701a ncc1701d ncc1701e nebraska nicholas nicoletta nintendo nonloso1 nonloso123 nonricordo
  nopassword nothing1 nothing123 novembre oblivion overlord p@ssw0rd p@ssw0rd1 p@ssword p@ssword1 pa$$w0rd pa$$word
  pa55w0rd pa55word pakistan palermo1 palermo123 panasonic panthers paperino paperino1 paradise paradiso pasquale
  passpass passport passw0rd passw0rd1 passw0rd123 password password! password1 password1! password10 password11
  password12 password123 password123! password1234 password12345 password123456 password2 password2020 password2021
  password2022 password2023 password2024 password2025 password3 passwords passwordsegreta passwort passwort1 passwort123
  patricia patrick1 patriots patrizia pearljam peekaboo penguins peterpan phillies phoenix1 pierluigi pippo123 pippo1234
  pippopippo pizza123 platinum playtime pluto123 plymouth poiuytrewq pokemon1 pokemon123 poohbear porkchop porsche9
  portland portugal precious predator primavera primavera1 primavera2025 princess princess1 principessa principessa1
  punisher punkrock q1q1q1q1 q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6 qawsedrf qazwsx123 qazwsxed qazwsxedc qazwsxedcrfv
  qazxswedc qweasdzxc qweasdzxc123 qweqweqwe qwer1234 qwerasdf qwert123 qwerty1! qwerty12 qwerty123 qwerty123!
  qwerty1234 qwerty12345 qwerty123456 qwertyqwerty qwertyui qwertyuio qwertyuiop qwertyuiop1 qwertyuiop123 raffaele
  raffaella ragnarok raiders1 rammstein rangers1 realmadrid redalert redskins redwings reginald renegade rfnthbyf
  rhbcnbyf riccardo riccardo1 richard1 robert123 roberta1 roberto1 roberto123 rockstar rolltide roma1234 roma1927
  romashka root1234 rootbeer rootroot rush2112 sabrina1 sailboat salvador salvatore salvatore1 samantha sampdoria
  samsung123 sandiego sapphire sara1234 saratoga sardegna sardegna1 scarface scooter1 scorpion scotland secret12
  secret123 security segreta1 segreto1 seinfeld seminole semperfi sentinel serena123 serenity settembre shadow123
  shamrock sherlock showtime silvia123 simona123 simone123 simpsons sithlord skittles slapshot slipknot snickers
  snoopy123 snowball snuggles socrates softball software spartans spectrum spiderman spiderman1 spitfire spring2024
  spring2025 squirrel stallion starbuck starcraft stardust starfish stargate startrek starwars starwars1 steelers
  stefania stefano1 stefano123 stella123 stellina stellina1 stephanie stingray stranger summer2020 summer2021 summer2022
  summer2023 summer2024 summer2025 sundance sunshine sunshine1 super123 superadmin superfly superman superman1
  superman123 superstar superuser svetlana sweetpea swimming swingers swordfish syracuse tacobell tarheels technics
  temp1234 temporary terminator terrance terrence tesoro123 test1234 test12345 tester123 testing1 testing123 testtest
  thailand thankyou theodore thepassword thomas123 thuglife thunder1 tiamo123 tiamo1234 tiamoamore tiamotanto tommaso1
  topolino topolino1 torino123 trfnthbyf trombone truelove trustno1 twilight ultimate unknown1 user1234 username
  vacanze1 vacation valentin valentina valentina1 valentino valentino46 valhalla vanhalen venezia1 veronica veronica1
  veronika vespa125 vfrcbvrf victoria viktoria vincenzo vincenzo1 virginia vkontakte vladimir vladislav warcraft
  warhammer warriors waterloo webmaster welcome1 welcome123 werewolf westside whatever whatever1 whocares wildcats
  wildfire william1 windows10 windows11 winter2020 winter2021 winter2022 winter2023 winter2024 winter2025 wolfgang
  wolfpack wolverine wordpass wrangler yankees1 youtube123 zaq12wsx zaq1@wsx zaq1xsw2 zaq1zaq1 zeppelin zxcv1234
  zxcvbn123 zxcvbnm1 zxcvbnm123 zxczxczxc
`

/** The first guesses against a program for guest houses. */
const OF_THE_TRADE = `
  affittacamere agriturismo alberghi albergo1 albergo123 alloggiati alloggiati1 alloggiati123 alloggiatiweb alloggio
  alloggio1 amministratore amministratore1 bedandbreakfast casavacanza casavacanze colazione gestionale gestione1
  gestione123 hotel123 hotel1234 hotel2024 hotel2025 hotel2026 hotelhotel lalocanda locanda1 locanda123 locanda2025
  locanda2026 operatore operatore1 operatore123 polizia1 polizia123 poliziadistato portineria prenotazione prenotazioni
  questura questura1 reception reception1 reception123 schedina schedine utente123 utente1234 vacanza1
`

/** What `passwordProblems` takes for `pwned`, in lower case. */
export const COMMON_PASSWORDS: ReadonlySet<string> = new Set(`${WELL_KNOWN}${OF_THE_TRADE}`.trim().split(/\s+/))
