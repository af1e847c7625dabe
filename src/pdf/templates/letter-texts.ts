import type { Language } from '../language/formats.ts'

/**
 * The texts of a welcome letter where the host gives none; `{…}` is filled in. `dalle` and `entro` say from which hour
 * the guest may come, and by which they leave.
 */
export const LETTER_TEXTS = {
  it: {
    titolo: 'Lettera di benvenuto',
    greeting: 'Benvenuti, {nome}!',
    text1: 'È un piacere avervi da noi. Abbiamo preparato tutto perché possiate sentirvi a casa fin dal primo ' +
      'momento: accomodatevi, aprite le finestre e prendetevi il tempo che serve.',
    text2: 'Siamo a disposizione per ogni necessità: dal consiglio su dove cenare questa sera alle indicazioni ' +
      'per raggiungere i luoghi più belli dei dintorni. Basta chiederci, di persona o con un messaggio.',
    text3: 'Vi auguriamo giornate serene e tanti bei ricordi da portare con voi. Se qualcosa non fosse come lo ' +
      'desiderate, ditecelo subito: ce ne occuperemo volentieri.',
    enjoy_text: 'Buon soggiorno!',
    arrivo: 'Arrivo',
    partenza: 'Partenza',
    codice: 'Prenotazione',
    wifi: 'Wi-Fi',
    password: 'Password',
    dalle: 'dalle {ora}',
    entro: 'entro le {ora}',
    colazione: 'Colazione',
    telefono: 'Telefono',
    regole: 'Buono a sapersi',
    inquadra: 'Inquadra e naviga',
    congedo: 'Con i nostri più cordiali saluti,'
  },
  en: {
    titolo: 'Welcome letter',
    greeting: 'Welcome, {nome}!',
    text1: 'It is a pleasure to have you with us. Everything is ready for you to feel at home from the very ' +
      'first moment: make yourself comfortable, open the windows and take all the time you need.',
    text2: 'We are here for anything you may need, from where to have dinner tonight to the best way to reach ' +
      'the most beautiful places nearby. Just ask us, in person or with a message.',
    text3: 'We wish you peaceful days and many happy memories to take home with you. Should anything not be ' +
      'quite as you would like it, please tell us at once: we will gladly see to it.',
    enjoy_text: 'Enjoy your stay!',
    arrivo: 'Arrival',
    partenza: 'Departure',
    codice: 'Booking',
    wifi: 'Wi-Fi',
    password: 'Password',
    dalle: 'from {ora}',
    entro: 'by {ora}',
    colazione: 'Breakfast',
    telefono: 'Telephone',
    regole: 'Good to know',
    inquadra: 'Scan to connect',
    congedo: 'With our warmest regards,'
  },
  de: {
    titolo: 'Willkommensbrief',
    greeting: 'Herzlich willkommen, {nome}!',
    text1: 'Wir freuen uns sehr, dass Sie bei uns sind. Alles ist vorbereitet, damit Sie sich vom ersten ' +
      'Augenblick an wie zu Hause fühlen: Kommen Sie in Ruhe an, öffnen Sie die Fenster und lassen Sie ' +
      'sich Zeit.',
    text2: 'Wir sind gern für Sie da – ob Sie einen Tipp für das Abendessen suchen oder den Weg zu den ' +
      'schönsten Orten der Umgebung. Sprechen Sie uns einfach an, persönlich oder mit einer Nachricht.',
    text3: 'Wir wünschen Ihnen erholsame Tage und viele schöne Erinnerungen. Sollte etwas nicht Ihren Wünschen ' +
      'entsprechen, sagen Sie es uns bitte gleich: Wir kümmern uns gern darum.',
    enjoy_text: 'Schönen Aufenthalt!',
    arrivo: 'Anreise',
    partenza: 'Abreise',
    codice: 'Buchung',
    wifi: 'WLAN',
    password: 'Passwort',
    dalle: 'ab {ora} Uhr',
    entro: 'bis {ora} Uhr',
    colazione: 'Frühstück',
    telefono: 'Telefon',
    regole: 'Gut zu wissen',
    inquadra: 'Scannen und verbinden',
    congedo: 'Mit herzlichen Grüßen,'
  },
  fr: {
    titolo: 'Lettre de bienvenue',
    greeting: 'Bienvenue, {nome}\u00A0!',
    text1: 'C’est un plaisir de vous accueillir. Tout est prêt pour que vous vous sentiez chez vous dès le ' +
      'premier instant\u00A0: installez-vous, ouvrez les fenêtres et prenez tout votre temps.',
    text2: 'Nous sommes à votre disposition pour tout ce dont vous auriez besoin, d’une bonne adresse pour ' +
      'dîner ce soir au chemin vers les plus beaux endroits des environs. Il suffit de nous le demander, ' +
      'de vive voix ou par message.',
    text3: 'Nous vous souhaitons des journées sereines et de beaux souvenirs à emporter avec vous. Si quelque ' +
      'chose ne répondait pas à vos attentes, dites-le-nous aussitôt\u00A0: nous nous en occuperons avec ' +
      'plaisir.',
    enjoy_text: 'Bon séjour\u00A0!',
    arrivo: 'Arrivée',
    partenza: 'Départ',
    codice: 'Réservation',
    wifi: 'Wi-Fi',
    password: 'Mot de passe',
    dalle: 'à partir de {ora}',
    entro: 'avant {ora}',
    colazione: 'Petit-déjeuner',
    telefono: 'Téléphone',
    regole: 'Bon à savoir',
    inquadra: 'Scannez-moi',
    congedo: 'Bien cordialement,'
  }
} satisfies Record<Language, Record<string, string>>
