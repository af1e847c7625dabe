import type { ErrorSubject } from './entry.ts'

export const SYSTEM = {
  title: 'Sistema, eventi, webhook',
  errors: {
    CURSORE_SCADUTO: {
      statuses: [410],
      cause: 'L’evento indicato dal cursore non è più conservato.',
      remedy: 'Rileggere i dati, poi leggere gli eventi dall’inizio.'
    },
    WEBHOOK_NON_TROVATO: { statuses: [404], cause: 'Nessun webhook ha questo id.', remedy: 'Leggere l’elenco.' },
    WEBHOOK_SOSPESO: {
      statuses: [409],
      cause: 'Il webhook è sospeso e non riceve eventi.',
      remedy: 'Riattivare il webhook, poi ripetere la consegna.'
    },
    TROPPI_WEBHOOK: {
      statuses: [409],
      cause: 'Il numero massimo di webhook è raggiunto.',
      remedy: 'Eliminare un webhook che non serve.'
    },
    CONSEGNA_NON_TROVATA: {
      statuses: [404],
      cause: 'Questo webhook non ha una consegna con questo id.',
      remedy: 'Leggere l’elenco delle consegne.'
    },
    LAVORO_NON_TROVATO: { statuses: [404], cause: 'Nessun lavoro ha questo nome.', remedy: 'Leggere l’elenco.' },
    LAVORO_IN_CORSO: {
      statuses: [409],
      cause: 'Lo stesso lavoro è già in corso.',
      remedy: 'Attendere che finisca. Lo stato è in `/api/v1/jobs`.'
    },
    POSTA_NON_CONFIGURATA: {
      statuses: [503],
      cause: 'Il server non ha un server di posta.',
      remedy: 'Chi gestisce il server deve impostare `SMTP_URL` e `MAIL_FROM`.'
    },
    TROPPE_FUNZIONI: {
      statuses: [409],
      cause: 'Il numero massimo di funzioni è raggiunto.',
      remedy: 'Usare una funzione esistente.'
    },
    SQL_SPENTO: {
      statuses: [403],
      cause: 'La console SQL non è attiva su questo server.',
      remedy: 'Leggere nel testo che cosa manca per attivarla.'
    },
    PASSWORD_ERRATA: {
      statuses: [403],
      cause: 'La password della console SQL non è corretta.',
      remedy: 'Chiedere la password a chi gestisce il server.'
    },
    SQL_NON_VALIDO: {
      statuses: [400],
      cause: 'PostgreSQL ha rifiutato il comando.',
      remedy: 'Leggere `messaggio` e `posizione`.'
    },
    SQL_RISPOSTA_TROPPO_GRANDE: {
      statuses: [400],
      cause: 'La risposta ha troppe righe o troppi byte. L’istruzione è stata annullata.',
      remedy: 'Aggiungere `limit`, o chiedere meno colonne.'
    }
  }
} satisfies ErrorSubject
