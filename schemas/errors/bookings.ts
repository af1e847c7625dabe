import type { ErrorSubject } from './entry.ts'

export const BOOKINGS = {
  title: 'Prenotazioni, ospiti, documenti',
  errors: {
    PRENOTAZIONE_NON_TROVATA: {
      statuses: [404],
      cause: 'Nessuna prenotazione ha questo numero: forse è stata eliminata.',
      remedy: 'Cercarla in `/api/v1/prenotazioni`.'
    },
    PRENOTAZIONE_MODIFICATA: {
      statuses: [412],
      cause: 'Qualcuno l’ha cambiata dopo che è stata letta (`If-Match`).',
      remedy: 'Rileggerla e ripetere il cambiamento sull’ultima versione.'
    },
    RICERCA_TROPPO_LUNGA: {
      statuses: [503],
      cause: 'La ricerca legge troppe prenotazioni e supera il tempo massimo.',
      remedy: 'Scrivere più lettere, o aggiungere un filtro.'
    },
    UNITA_NON_TROVATA: {
      statuses: [404],
      cause: 'Nessuna unità ha questo numero.',
      remedy: 'Leggere l’elenco in `/api/v1/unita`.'
    },
    STRUTTURA_NON_TROVATA: {
      statuses: [404],
      cause: 'Nessuna struttura ha questo numero.',
      remedy: 'Leggere l’elenco in `/api/v1/strutture`.'
    },
    STRUTTURA_IN_USO: {
      statuses: [409],
      cause: 'La struttura ha unità o un account della Polizia, o è la prima.',
      remedy: 'Spostare le unità, ed eliminare l’account. La prima struttura resta sempre.'
    },
    STRUTTURA_CAMBIATA: {
      statuses: [412],
      cause: 'I dati della struttura sono cambiati dopo che sono stati letti.',
      remedy: 'Rileggerli e ripetere il cambiamento.'
    },
    BLOCCO_NON_TROVATO: {
      statuses: [404],
      cause: 'Nessun blocco ha questo numero.',
      remedy: 'Leggere l’elenco in `/api/v1/blocchi`.'
    },
    UNITA_OCCUPATA: {
      statuses: [409],
      cause: 'Un’altra prenotazione o un blocco occupa l’unità in questi giorni. Il testo dice quale.',
      remedy: 'Scegliere un’unità di `/api/v1/unita/disponibilita`, o spostare l’altra.'
    },
    UNITA_IN_USO: {
      statuses: [409],
      cause: 'L’unità ha prenotazioni: non si elimina, e restano nei suoi giorni di uso.',
      remedy: 'Spostare le prenotazioni, o indicare in `attiva_a` l’ultimo giorno di uso.'
    },
    NESSUNA_UNITA_LIBERA: {
      statuses: [409],
      cause: 'Ogni unità abbastanza grande è occupata o non è in uso in questi giorni.',
      remedy: 'Spostare altre prenotazioni, o dividere gli ospiti in più prenotazioni.'
    },
    DOCUMENTO_NON_TROVATO: {
      statuses: [404],
      cause: 'L’immagine di questo ospite non esiste, o è stata eliminata alla scadenza.',
      remedy: 'Leggere la scadenza in `/api/v1/prenotazioni/{id}/privacy`.'
    },
    DOCUMENTO_NON_LETTO: {
      statuses: [422],
      cause: 'Nell’immagine non si legge né una zona a lettura ottica, né il testo di un documento italiano.',
      remedy: 'Fotografare di nuovo, da vicino e senza riflessi, o scrivere l’ospite a mano. Nulla è stato salvato.'
    },
    SCANSIONE_NON_TROVATA: {
      statuses: [404],
      cause: 'Nessuna scansione ha questo id, o la scansione non ha un’immagine.',
      remedy: 'Leggere l’elenco in `/api/v1/scansioni`.'
    },
    OCR_CREDENZIALI_RIFIUTATE: {
      statuses: [502],
      cause: 'Il provider OCR esterno non accetta la chiave del server.',
      remedy: 'Chi gestisce il server deve controllare `OCR_PROVIDER_KEY`. Intanto usare `solo_mrz`.'
    },
    OCR_RISPOSTA_NON_VALIDA: {
      statuses: [502],
      cause: 'La risposta del provider OCR esterno non è valida.',
      remedy: 'Riprovare, o usare `solo_mrz`.'
    },
    OCR_NON_DISPONIBILE: {
      statuses: [503],
      cause: 'Il provider OCR esterno non risponde.',
      remedy: 'Riprovare fra poco, o usare `solo_mrz`.'
    },
    OCR_IMMAGINE_TROPPO_GRANDE: {
      statuses: [413],
      cause: 'L’immagine supera la dimensione che il provider OCR esterno accetta.',
      remedy: 'Ridurre l’immagine, o usare `solo_mrz`.'
    },
    OCR_QUOTA_ESAURITA: {
      statuses: [503],
      cause: 'La quota del provider OCR esterno è esaurita.',
      remedy: 'Riprovare più tardi, o usare `solo_mrz`.'
    }
  }
} satisfies ErrorSubject
