import type { ErrorSubject } from './entry.ts'

export const COMMON = {
  title: 'Tutte le richieste',
  errors: {
    RICHIESTA_NON_VALIDA: {
      statuses: [400, 404, 408, 413, 414, 415, 431],
      cause: 'La richiesta non rispetta la descrizione dell’API.',
      remedy: 'Correggere tutti i campi elencati in `dettagli` e ripetere.'
    },
    JSON_NON_VALIDO: {
      statuses: [400],
      cause: 'Il corpo manca, o non è JSON.',
      remedy: 'Inviare JSON in UTF-8, con `Content-Type: application/json`.'
    },
    CORPO_NON_UTF8: {
      statuses: [400],
      cause: 'Il corpo, o un suo campo, ha byte che non sono UTF-8, per esempio di un testo in Latin-1.',
      remedy: 'Mandare il testo in UTF-8: nulla è stato scritto. Un file CSV può essere anche in Windows-1252.'
    },
    CORPO_TROPPO_GRANDE: {
      statuses: [413],
      cause: 'Il corpo supera il limite di questo indirizzo.',
      remedy: 'Inviare meno righe o un’immagine più piccola.'
    },
    TIPO_NON_SUPPORTATO: {
      statuses: [415],
      cause: 'Il corpo è in un formato che questo indirizzo non legge.',
      remedy: 'Usare il `Content-Type` indicato nella descrizione dell’operazione.'
    },
    URL_NON_VALIDO: {
      statuses: [400, 414],
      cause: 'L’indirizzo è scritto male, o è troppo lungo.',
      remedy: 'Codificare i caratteri speciali con `%` e due cifre esadecimali.'
    },
    NON_AUTENTICATO: {
      statuses: [401],
      cause: 'Il token o la chiave manca, non è valido o è scaduto.',
      remedy: 'Accedere di nuovo, o controllare `x-api-key`. `WWW-Authenticate` dice se un token è stato rifiutato.'
    },
    NON_AUTORIZZATO: {
      statuses: [403],
      cause: 'L’account o la chiave non ha il permesso per questa operazione.',
      remedy: 'Usare un account con il ruolo indicato nella descrizione.'
    },
    AMBITO_INSUFFICIENTE: {
      statuses: [403],
      cause: 'La chiave personale non ha l’ambito di questa operazione.',
      remedy: 'Creare una chiave con l’ambito indicato nel testo.'
    },
    SERVE_UNA_PERSONA: {
      statuses: [403],
      cause: 'Questa operazione richiede il token di una persona, non una chiave.',
      remedy: 'Accedere con e-mail e password e inviare il token.'
    },
    ACCOUNT_IN_ATTESA: {
      statuses: [403],
      cause: 'L’account non ha ancora un ruolo.',
      remedy: 'Chiedere a un amministratore di assegnare il ruolo.'
    },
    COOKIE_ASSENTI: {
      statuses: [400],
      cause: 'Il browser non accetta i cookie di questo server: nelle pagine non si può accedere.',
      remedy: 'Permettere i cookie di questo sito e riprovare. I collegamenti ricevuti valgono ancora.'
    },
    MODULO_ESTRANEO: {
      statuses: [403],
      cause: 'Un modulo delle pagine non viene da una pagina di questo server.',
      remedy: 'Riaprire la pagina e inviare di nuovo.'
    },
    MODULO_SCADUTO: {
      statuses: [403],
      cause: 'Un modulo delle pagine è di un’altra sessione, o di troppo tempo fa.',
      remedy: 'Ricaricare la pagina e inviare di nuovo.'
    },
    SECONDO_FATTORE_RICHIESTO: {
      statuses: [403],
      cause: 'L’account ha un secondo fattore, e questa sessione non l’ha ancora confermato.',
      remedy: 'Confermare l’accesso con un codice o una passkey, poi ripetere con il nuovo token.'
    },
    SECONDO_FATTORE_DA_REGISTRARE: {
      statuses: [403],
      cause: 'Questo server richiede un secondo fattore, e l’account non ne ha.',
      remedy: 'Registrare un secondo fattore, confermarlo, e ripetere con il nuovo token.'
    },
    PASSWORD_DA_CAMBIARE: {
      statuses: [403],
      cause: 'La password è quella che il server ha mostrato al primo avvio, e non è ancora stata sostituita.',
      remedy: 'Scegliere un’altra password nelle pagine `/auth/`, o con `PUT /auth/v1/user`. Il token vale ancora.'
    },
    SECONDO_FATTORE_RECENTE: {
      statuses: [403],
      cause: 'L’ultima conferma del secondo fattore ha più di 15 minuti, o l’account non ne ha.',
      remedy: 'Confermare di nuovo il secondo fattore, o registrarne uno. Poi ripetere con il nuovo token.'
    },
    RISORSA_NON_TROVATA: {
      statuses: [404],
      cause: 'Questo indirizzo non esiste.',
      remedy: 'Controllare il percorso nella descrizione dell’API.'
    },
    METODO_NON_AMMESSO: {
      statuses: [405],
      cause: 'L’indirizzo esiste, ma non accetta questo metodo.',
      remedy: 'Usare uno dei metodi elencati in `Allow`.'
    },
    TROPPE_RICHIESTE: {
      statuses: [429],
      cause: 'Troppe richieste o troppi tentativi in poco tempo.',
      remedy: 'Attendere i secondi di `Retry-After`. `RateLimit-Remaining` dice quante richieste restano.'
    },
    IDEMPOTENCY_KEY_RIUSATA: {
      statuses: [422],
      cause: 'La stessa `Idempotency-Key` è già stata usata per una richiesta diversa.',
      remedy: 'Usare una chiave nuova per ogni richiesta nuova, e la stessa solo per ripetere la stessa richiesta.'
    },
    IDEMPOTENCY_KEY_IN_CORSO: {
      statuses: [409],
      cause: 'La prima richiesta con questa chiave è ancora in corso, o si è interrotta.',
      remedy: 'Attendere e ripetere con la stessa chiave. Se dura, controllare che cosa esiste, poi usarne un’altra.'
    },
    IDEMPOTENCY_KEY_ESEGUITA: {
      statuses: [409],
      cause: 'La richiesta con questa chiave è stata eseguita, ma la sua risposta non è più conservata.',
      remedy: 'Non ripetere. Leggere che cosa è stato fatto.'
    },
    MANUTENZIONE: {
      statuses: [503],
      cause: 'Un amministratore ha messo il servizio in manutenzione.',
      remedy: 'Riprovare dopo i secondi di `Retry-After`.'
    },
    SERVIZIO_OCCUPATO: {
      statuses: [503],
      cause: 'Il server ha troppo lavoro in corso.',
      remedy: 'Riprovare dopo i secondi di `Retry-After`.'
    },
    DATABASE_NON_DISPONIBILE: {
      statuses: [503],
      cause: 'La base dati non risponde, o ha interrotto la richiesta. Nulla è rimasto a metà.',
      remedy: 'Riprovare dopo i secondi di `Retry-After`.'
    },
    SPAZIO_ESAURITO: {
      statuses: [503],
      cause: 'Il disco del server è pieno.',
      remedy: 'Chi gestisce il server deve liberare spazio. Poi ripetere.'
    },
    ARCHIVIO_PIENO: {
      statuses: [507],
      cause: 'Il disco del server ha soltanto la riserva che i file non possono usare. Nulla è stato scritto.',
      remedy: 'Eliminare dei file, o chiedere a chi gestisce il server di ingrandire il disco. Poi ripetere.'
    },
    REGISTRO_NON_DISPONIBILE: {
      statuses: [503],
      cause: 'Il server non può scrivere il registro delle azioni, quindi non ha eseguito la richiesta.',
      remedy: 'Riprovare fra poco. Se dura, avvisare chi gestisce il server.'
    },
    PROVIDER_NON_RAGGIUNGIBILE: {
      statuses: [503],
      cause: 'Il provider di identità esterno non risponde.',
      remedy: 'Riprovare fra poco.'
    },
    ERRORE_INTERNO: {
      statuses: [500],
      cause: 'Il server ha un errore interno.',
      remedy: 'Avvisare chi lo gestisce, con il `requestId` della risposta.'
    }
  }
} satisfies ErrorSubject
