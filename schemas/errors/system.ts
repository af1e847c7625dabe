import type { ErrorSubject } from './entry.ts'

export const SYSTEM = {
  title: 'Sistema, eventi, webhook',
  errors: {
    CURSORE_SCADUTO: {
      statuses: [410],
      cause: 'Il punto fin dove si erano letti gli eventi non è più conservato.',
      remedy: 'Rileggere i dati, poi gli eventi dall’inizio.'
    },
    WEBHOOK_NON_TROVATO: { statuses: [404], cause: 'Nessun webhook ha questo id.', remedy: 'Leggere quali ci sono.' },
    WEBHOOK_SOSPESO: {
      statuses: [409],
      cause: 'Il webhook è sospeso, e non riceve nulla.',
      remedy: 'Riattivarlo, poi ripetere la consegna.'
    },
    TROPPI_WEBHOOK: {
      statuses: [409],
      cause: 'Ci sono già tutti i webhook che si possono avere.',
      remedy: 'Eliminarne uno che non serve.'
    },
    CONSEGNA_NON_TROVATA: {
      statuses: [404],
      cause: 'Questo webhook non ha una consegna con questo id.',
      remedy: 'Leggere le sue consegne.'
    },
    LAVORO_NON_TROVATO: { statuses: [404], cause: 'Nessun lavoro ha questo nome.', remedy: 'Leggere quali ci sono.' },
    LAVORO_IN_CORSO: {
      statuses: [409],
      cause: 'Lo stesso lavoro è già in corso.',
      remedy: 'Aspettare che finisca: si vede in `/api/v1/jobs`.'
    },
    POSTA_NON_CONFIGURATA: {
      statuses: [503],
      cause: 'Il server non ha un server di posta.',
      remedy: 'Chi gestisce il server imposta `SMTP_URL` e `MAIL_FROM`.'
    },
    TROPPE_FUNZIONI: {
      statuses: [409],
      cause: 'Ci sono già tutte le funzioni che si possono avere.',
      remedy: 'Eliminarne una.'
    },
    SQL_SPENTO: {
      statuses: [403],
      cause: 'La console SQL non è accesa su questo server.',
      remedy: 'Il testo dice che cosa manca per accenderla.'
    },
    PASSWORD_ERRATA: {
      statuses: [403],
      cause: 'La password della console SQL non è quella.',
      remedy: 'Chiederla a chi gestisce il server.'
    },
    SQL_NON_VALIDO: {
      statuses: [400],
      cause: 'PostgreSQL ha rifiutato il comando.',
      remedy: 'Leggere `messaggio` e `posizione`.'
    },
    SQL_RISPOSTA_TROPPO_GRANDE: {
      statuses: [400],
      cause: 'La risposta ha troppe righe o troppi byte; non è stato fatto nulla.',
      remedy: 'Aggiungere `limit`, o chiedere meno colonne.'
    }
  }
} satisfies ErrorSubject
