/* Help printed after the options: details that do not fit into one line, and examples. */

export const HELP = {
  program: `
Esempi:
  locanda login --url https://locanda.example
  locanda prenotazioni list --da 2026-11-01 --sort check_in
  locanda alloggiati valida --prenotazione 12
  locanda --json prenotazioni show 12

Codici di uscita:
  0  riuscito
  1  il server ha rifiutato la richiesta, o il comando è fallito
  2  uso non valido del comando
  3  accesso mancante, o credenziali rifiutate
  4  server non raggiungibile
  5  le schedine contengono errori`,

  login: `
Il comando legge la password da LOCANDA_PASSWORD. Se manca, la chiede al terminale, o senza un terminale la legge dalla
prima riga dello standard input. La invia solo a indirizzi https o di questa macchina, e salva la chiave, non la
password. Con un secondo fattore serve un codice (anche di recupero): il comando lo legge da LOCANDA_CODE, o lo chiede
al terminale. Chi accede con una passkey o un altro provider crea una chiave API sulle pagine del server. Con --chiave
il comando la legge da LOCANDA_KEY, o la chiede.`,

  key: `
Il comando scrive solo la chiave su stdout, e non la salva. Chiede di nuovo la password, come «locanda login».`,

  validate: `
Esce con 5 se ci sono errori. Gli avvisi non contano.`,

  testCall: `
Una prova non registra nulla. Esce con 5 se le schedine contengono errori.`,

  job: `
Serve la chiave di un amministratore. Il server esegue il lavoro, anche se questo comando viene interrotto. Il comando
esce con 1 se il lavoro fallisce o è già in corso.`,

  maintenance: `
Durante la manutenzione hanno accesso solo gli amministratori. Con --server il comando legge l’ambiente del server
(MASTER_KEY o DATA_DIR, PUBLIC_URL, HOST, PORT) e ne chiama l’indirizzo. È utile quando nessuno può più accedere.`,

  admin: `
Il comando legge l’ambiente del server (MASTER_KEY o DATA_DIR, PUBLIC_URL, HOST, PORT) e ne chiama l’indirizzo. È utile
quando nessuno può più accedere. Legge la password da LOCANDA_PASSWORD. Se manca, la chiede due volte al terminale, o
senza un terminale la legge dalla prima riga dello standard input.`,

  serviceKey: `
Il comando non chiama il server: legge il suo ambiente (MASTER_KEY o DATA_DIR, PUBLIC_URL, PORT), che deve essere lo
stesso con cui il server è avviato. La chiave dà tutti i diritti, per esempio a supabase-js.`,

  backup: `
Il comando non chiama il server, che può essere in funzione: legge il suo ambiente (DATABASE_URL o DATA_DIR, MASTER_KEY,
S3_…). Indicare la passphrase in BACKUP_PASSPHRASE, altrimenti il comando la chiede. Il salvataggio non contiene
MASTER_KEY: conservarla a parte.`,

  restore: `
Servono un database vuoto, un archivio dei file vuoto, e la chiave MASTER_KEY del salvataggio. Il salvataggio può essere
di una versione precedente di Locanda. Dopo il ripristino gli invii alla Polizia sono sospesi. Un amministratore deve
confrontare le ricevute, poi riprendere gli invii. Tutte le sessioni sono terminate e tutte le chiavi API revocate. Le
cancellazioni e i blocchi di utenti successivi sono ripetuti, se accanto al salvataggio c’è il file
locanda-cancellazioni-….json: altrimenti il comando dice da quando ripeterli a mano.`,

  doctor: `
Il comando legge l’ambiente del server e controlla chiave, database, orologio, file, posta, Redis, credenziali della
Polizia, disco, salvataggi, indirizzo pubblico, certificato e proxy. Non cambia e non invia nulla. Esce con 1 se c’è un
errore. Gli avvisi non contano.`
}
