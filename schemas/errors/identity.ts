import type { ErrorSubject } from './entry.ts'

export const IDENTITY = {
  title: 'Persone, sessioni e chiavi',
  errors: {
    EMAIL_GIA_REGISTRATA: {
      statuses: [409],
      cause: 'Un account ha già questo indirizzo.',
      remedy: 'Cercarlo fra gli utenti, o usare un altro indirizzo.'
    },
    UTENTE_NON_TROVATO: { statuses: [404], cause: 'Nessuno ha questo id.', remedy: 'Cercare in `/api/operators`.' },
    PROVIDER_NON_COLLEGATO: {
      statuses: [404],
      cause: 'L’account non ha un accesso con questo provider.',
      remedy: 'Leggere prima quali provider sono collegati.'
    },
    UNICA_IDENTITA: {
      statuses: [409],
      cause: 'Senza questo accesso nessuno potrebbe più entrare nell’account.',
      remedy: 'Collegarne prima un altro, o scegliere una password.'
    },
    SCOLLEGAMENTO_NON_AMMESSO: {
      statuses: [403],
      cause: 'Gli account sono di un provider esterno, che non lo permette.',
      remedy: 'Farlo nelle pagine di quel provider.'
    },
    CHIAVE_NON_TROVATA: {
      statuses: [404],
      cause: 'Nessuna chiave di questa persona ha questo id.',
      remedy: 'Leggere l’elenco delle chiavi: forse è già revocata.'
    },
    TROPPE_CHIAVI: {
      statuses: [409],
      cause: 'L’account ha già tutte le chiavi che può avere.',
      remedy: 'Revocare una chiave che non si usa.'
    },
    AMMINISTRAZIONE_NON_DISPONIBILE: {
      statuses: [503],
      cause: 'Il provider esterno si amministra solo con la sua chiave di servizio.',
      remedy: 'Chi gestisce il server deve impostare `IDP_SERVICE_KEY`.'
    }
  }
} satisfies ErrorSubject
