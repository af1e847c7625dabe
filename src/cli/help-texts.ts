/* Help printed after the options: details that do not fit into one line, and examples. */

export const HELP = {
  program: `
Esempi:
  locanda login --url https://locanda.example
  locanda prenotazioni list --da 2026-11-01 --sort check_in
  locanda alloggiati valida --prenotazione 12
  locanda --json prenotazioni show 12

Codici di uscita:
  0  tutto bene
  1  il server ha rifiutato, o qualcosa non è riuscito
  2  comando usato in modo sbagliato
  3  manca l'accesso, o le credenziali sono state rifiutate
  4  server non raggiungibile
  5  le schedine contengono errori`,

  login: `
La password viene chiesta al terminale; senza un terminale si legge dalla prima riga dello standard input, oppure da
LOCANDA_PASSWORD. Va soltanto a indirizzi https, o di questa macchina. Si salva la chiave, non la password. A chi ha un
secondo fattore viene chiesto un codice (o uno di recupero); senza un terminale si legge da LOCANDA_CODE. Chi accede con
una passkey o un altro provider crea una chiave API sulle pagine del server, e la dà con --chiave (o in LOCANDA_KEY).`,

  key: `
La chiave è scritta da sola su stdout e non viene salvata. Serve di nuovo la password, come per «locanda login».`,

  validate: `
Esce con 5 se ci sono errori; gli avvisi non contano.`,

  testCall: `
Una prova non registra nulla. Esce con 5 se le schedine contengono errori.`,

  job: `
Serve una chiave di un amministratore. Il lavoro è eseguito dal server, anche se questo comando viene interrotto. Esce
con 1 se il lavoro fallisce o è già in corso.`,

  maintenance: `
Durante la manutenzione entrano soltanto gli amministratori. Con --server il comando legge l'ambiente del server
(MASTER_KEY o DATA_DIR, PUBLIC_URL, HOST, PORT) e ne chiama l'indirizzo: serve a chi si è chiuso fuori.`,

  admin: `
Con l'ambiente del server (MASTER_KEY o DATA_DIR, PUBLIC_URL, HOST, PORT) il comando ne chiama l'indirizzo: serve a chi
non può più accedere. La password viene chiesta due volte; senza un terminale è la prima riga dello standard input,
oppure LOCANDA_PASSWORD.`,

  serviceKey: `
Non chiede nulla al server: legge il suo ambiente (MASTER_KEY o DATA_DIR, PUBLIC_URL, PORT), che deve essere lo stesso
con cui è stato avviato. La chiave dà tutti i diritti, per esempio a supabase-js.`,

  backup: `
Non chiede nulla al server, che può essere in funzione: legge il suo ambiente (DATABASE_URL o DATA_DIR, MASTER_KEY,
S3_…). La passphrase si dà in BACKUP_PASSPHRASE, oppure viene chiesta. La chiave MASTER_KEY non è nel salvataggio:
conservarla a parte.`,

  restore: `
Vuole un database e un posto dei file vuoti, e la chiave MASTER_KEY del salvataggio; il salvataggio può essere di una
versione precedente di Locanda. Dopo, gli invii alla Polizia restano sospesi finché un amministratore non ha confrontato
le ricevute.`,

  doctor: `
Legge l'ambiente del server e guarda chiave, database, orologio, file, posta, Redis, credenziali della Polizia, disco,
salvataggi, indirizzo pubblico, certificato e proxy. Non cambia e non invia nulla. Esce con 1 se c'è un errore; gli
avvisi non contano.`
}
