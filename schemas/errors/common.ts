import type { ErrorSubject } from './entry.ts'

export const COMMON = {
  title: 'Di ogni richiesta',
  errors: {
    RICHIESTA_NON_VALIDA: {
      statuses: [400, 404, 408, 413, 414, 415, 431],
      cause: 'La richiesta non è come la descrizione la vuole.',
      remedy: 'Correggere i campi che `dettagli` nomina, tutti in una volta, e ripetere.'
    },
    JSON_NON_VALIDO: {
      statuses: [400],
      cause: 'Il corpo manca, o non è JSON.',
      remedy: 'Mandare JSON in UTF-8, con `Content-Type: application/json`.'
    },
    CORPO_TROPPO_GRANDE: {
      statuses: [413],
      cause: 'Il corpo supera il limite di questo indirizzo.',
      remedy: 'Mandare meno righe o un’immagine più piccola.'
    },
    TIPO_NON_SUPPORTATO: {
      statuses: [415],
      cause: 'Il corpo è in un formato che questo indirizzo non legge.',
      remedy: 'Usare il `Content-Type` che la descrizione indica per l’operazione.'
    },
    URL_NON_VALIDO: {
      statuses: [400, 414],
      cause: 'L’indirizzo è scritto male, o è troppo lungo.',
      remedy: 'Codificare i segni speciali con `%` e due cifre.'
    },
    NON_AUTENTICATO: {
      statuses: [401],
      cause: 'Non c’è un token né una chiave, o non valgono più.',
      remedy: 'Accedere di nuovo, o controllare `x-api-key`; `WWW-Authenticate` dice se un token è stato rifiutato.'
    },
    NON_AUTORIZZATO: {
      statuses: [403],
      cause: 'Chi chiama è conosciuto, ma questo non lo può fare.',
      remedy: 'Farlo fare a chi ha il ruolo che la descrizione indica.'
    },
    AMBITO_INSUFFICIENTE: {
      statuses: [403],
      cause: 'La chiave personale non ha l’ambito di questa operazione.',
      remedy: 'Creare una chiave con l’ambito che il testo nomina.'
    },
    SERVE_UNA_PERSONA: {
      statuses: [403],
      cause: 'Questa operazione vuole il token di una persona, non una chiave.',
      remedy: 'Accedere con e-mail e password e mandare il token.'
    },
    ACCOUNT_IN_ATTESA: {
      statuses: [403],
      cause: 'L’account c’è, e nessuno gli ha ancora dato un ruolo.',
      remedy: 'Chiedere a un amministratore di assegnare il ruolo.'
    },
    COOKIE_ASSENTI: {
      statuses: [400],
      cause: 'Il browser non accetta i cookie di questo server: nelle pagine non si può accedere.',
      remedy: 'Permettere i cookie di questo sito e riprovare: nulla è stato fatto, e nessun collegamento è consumato.'
    },
    MODULO_ESTRANEO: {
      statuses: [403],
      cause: 'Un modulo delle pagine non viene da una pagina di questo server.',
      remedy: 'Riaprire la pagina e inviare di nuovo.'
    },
    SECONDO_FATTORE_RICHIESTO: {
      statuses: [403],
      cause: 'L’account ha un secondo fattore, e questa sessione non l’ha ancora mostrato.',
      remedy: 'Confermare l’accesso con un codice o una passkey, poi ripetere con il nuovo token.'
    },
    SECONDO_FATTORE_DA_REGISTRARE: {
      statuses: [403],
      cause: 'Questo server vuole un secondo fattore, e l’account non ne ha.',
      remedy: 'Registrarne uno, confermarlo, e ripetere con il nuovo token.'
    },
    SECONDO_FATTORE_RECENTE: {
      statuses: [403],
      cause: 'L’ultima conferma del secondo fattore ha più di 15 minuti, o l’account non ne ha.',
      remedy: 'Confermarlo di nuovo, o registrarne uno, poi ripetere con il nuovo token.'
    },
    RISORSA_NON_TROVATA: {
      statuses: [404],
      cause: 'A questo indirizzo non c’è nulla.',
      remedy: 'Controllare il percorso: gli indirizzi sono nella descrizione.'
    },
    METODO_NON_AMMESSO: {
      statuses: [405],
      cause: 'L’indirizzo c’è, ma non con questo metodo.',
      remedy: 'Usare uno dei metodi che `Allow` nomina.'
    },
    TROPPE_RICHIESTE: {
      statuses: [429],
      cause: 'Troppe richieste in una finestra, o troppi tentativi.',
      remedy: 'Aspettare i secondi di `Retry-After`; quante ne restano è in `RateLimit-Remaining`.'
    },
    IDEMPOTENCY_KEY_RIUSATA: {
      statuses: [422],
      cause: 'La stessa `Idempotency-Key` è venuta con una richiesta diversa.',
      remedy: 'Una chiave nuova per ogni richiesta nuova; la stessa solo per ripetere la stessa.'
    },
    IDEMPOTENCY_KEY_IN_CORSO: {
      statuses: [409],
      cause: 'La prima richiesta con questa chiave è ancora in corso, o si è interrotta.',
      remedy: 'Aspettare e ripetere con la stessa chiave; se dura, guardare che cosa esiste prima di usarne un’altra.'
    },
    IDEMPOTENCY_KEY_ESEGUITA: {
      statuses: [409],
      cause: 'La richiesta con questa chiave è stata eseguita; la sua risposta era troppo grande per essere tenuta.',
      remedy: 'Non ripetere: leggere che cosa è stato fatto.'
    },
    MANUTENZIONE: {
      statuses: [503],
      cause: 'Un amministratore ha messo il servizio in manutenzione.',
      remedy: 'Riprovare più tardi; quando finisce lo dice la pagina di stato.'
    },
    SERVIZIO_OCCUPATO: {
      statuses: [503],
      cause: 'Il server ha più lavoro di quanto ne possa portare a termine in tempo.',
      remedy: 'Riprovare dopo i secondi di `Retry-After`.'
    },
    DATABASE_NON_DISPONIBILE: {
      statuses: [503],
      cause: 'La base dati non risponde, o ha interrotto la richiesta: non è rimasto nulla a metà.',
      remedy: 'Riprovare dopo i secondi di `Retry-After`.'
    },
    SPAZIO_ESAURITO: {
      statuses: [503],
      cause: 'Il disco del server è pieno.',
      remedy: 'Chi gestisce il server deve liberare spazio; poi ripetere.'
    },
    REGISTRO_NON_DISPONIBILE: {
      statuses: [503],
      cause: 'Il registro delle azioni non si può scrivere, e senza non si fa nulla.',
      remedy: 'Riprovare fra poco; se dura, avvisare chi gestisce il server.'
    },
    PROVIDER_NON_RAGGIUNGIBILE: {
      statuses: [503],
      cause: 'Il provider di identità esterno non risponde.',
      remedy: 'Riprovare fra poco.'
    },
    ERRORE_INTERNO: {
      statuses: [500],
      cause: 'Il server ha un difetto.',
      remedy: 'Avvisare chi lo gestisce, con il `requestId` della risposta.'
    }
  }
} satisfies ErrorSubject
