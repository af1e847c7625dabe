import type { ErrorSubject } from './entry.ts'

export const POLICE = {
  title: 'Alloggiati Web',
  errors: {
    VALIDAZIONE: {
      statuses: [422],
      cause: 'Una o più schedine hanno errori: nessuna è stata inviata.',
      remedy: 'Correggere gli ospiti che `errors` nomina, poi inviare.'
    },
    CREDENZIALI_MANCANTI: {
      statuses: [422, 503],
      cause: 'Al server mancano utente, password o chiave di Alloggiati Web.',
      remedy: 'Chi gestisce il server le imposta (`ALLOGGIATI_UTENTE`, `ALLOGGIATI_PASSWORD`, `ALLOGGIATI_WSKEY`).'
    },
    CREDENZIALI_RIFIUTATE: {
      statuses: [422, 503],
      cause: 'La Polizia ha rifiutato le credenziali: nulla è stato fatto.',
      remedy: 'Controllarle sul portale. Dopo ogni cambio di password generare una nuova WSKEY, poi riavviare il ' +
        'server. Un accesso rifiutato non si ripete per 15 minuti.'
    },
    SERVIZIO_NON_RAGGIUNGIBILE: {
      statuses: [422, 503],
      cause: 'Il servizio della Polizia non risponde: nulla è stato inviato.',
      remedy: 'Riprovare più tardi, con la stessa `Idempotency-Key`.'
    },
    INVII_SOSPESI: {
      statuses: [422],
      cause: 'Gli invii sono sospesi, da una persona o dopo un ripristino: nulla è stato inviato.',
      remedy: 'Un amministratore confronta le ricevute e riprende gli invii.'
    },
    CARTELLA_NON_SCRIVIBILE: {
      statuses: [422, 503],
      cause: 'Il server non può annotare l’invio prima di farlo, e perciò non lo fa.',
      remedy: 'Chi gestisce il server controlla la cartella dati: spazio e permessi.'
    },
    RIFIUTATO_DAL_SERVIZIO: {
      statuses: [422],
      cause: 'La Polizia ha rifiutato la richiesta intera: nessuna schedina è stata acquisita.',
      remedy: 'Leggere `dettagli.messaggio_soap`; corretto il motivo, inviare di nuovo.'
    },
    SCHEDINE_RIFIUTATE: {
      statuses: [422],
      cause: 'La Polizia ha rifiutato alcune schedine; le altre possono essere state acquisite.',
      remedy: 'Correggere gli ospiti nominati in `schedine` e inviare quelli che mancano.'
    },
    INVIO_IN_CORSO: {
      statuses: [202, 409, 422],
      cause: 'Per queste persone c’è già un invio che non è concluso.',
      remedy: 'Non ripetere: l’invio prosegue da solo, e il suo esito si legge in `/api/v1/invii`.'
    },
    NON_INVIATO: {
      statuses: [422],
      cause: 'Nessuna schedina è partita.',
      remedy: 'Si può inviare di nuovo, con la stessa `Idempotency-Key`.'
    },
    INVIO_ANNULLATO: {
      statuses: [422],
      cause: 'Un amministratore ha annullato l’invio prima che partisse.',
      remedy: 'Se le schedine servono, chiedere un nuovo invio.'
    },
    ESITO_SCONOSCIUTO: {
      statuses: [202, 422],
      cause: 'La risposta della Polizia non è arrivata: le schedine possono essere state acquisite.',
      remedy: 'Non inviare di nuovo: la ricevuta di domani, o il portale, dice com’è andata.'
    },
    SCHEDINE_GIA_INVIATE: {
      statuses: [409],
      cause: 'Queste persone sono già state inviate per lo stesso arrivo.',
      remedy: 'Inviare gli altri ospiti con `solo_mancanti`.'
    },
    OSPITI_CAMBIATI: {
      statuses: [409],
      cause: 'Ospiti già inviati sono stati sostituiti da altri.',
      remedy: 'Controllare chi alloggia davvero; il testo dice come inviare gli altri.'
    },
    OSPITI_OLTRE_LA_PRENOTAZIONE: {
      statuses: [409],
      cause: 'Ci sarebbero più ospiti inviati di quanti la prenotazione ne prevede.',
      remedy: 'Correggere `numero_ospiti`, o gli ospiti.'
    },
    PRENOTAZIONE_CAMBIATA: {
      statuses: [409, 422],
      cause: 'La prenotazione è cambiata dopo la richiesta: nulla è stato inviato.',
      remedy: 'Rileggere la prenotazione e inviare di nuovo.'
    },
    NULLA_DA_INVIARE: {
      statuses: [409],
      cause: 'Di questi ospiti non manca nessuno.',
      remedy: 'Nessuno: le ricevute sono nella risposta.'
    },
    INVIO_NON_TROVATO: { statuses: [404], cause: 'Nessun invio ha questo id.', remedy: 'Cercarlo in `/api/v1/invii`.' },
    INVIO_CAMBIATO: {
      statuses: [409],
      cause: 'L’invio è cambiato dopo che è stato letto.',
      remedy: 'Rileggerlo e decidere di nuovo.'
    },
    NULLA_DA_DECIDERE: {
      statuses: [409],
      cause: 'L’invio è in uno stato che non aspetta decisioni.',
      remedy: 'Leggere il suo stato: si decide solo di `sconosciuto` e `da_verificare`.'
    },
    DECISIONE_NON_POSSIBILE: {
      statuses: [409],
      cause: 'La decisione contraddice ciò che si sa dell’invio.',
      remedy: 'Il testo dice perché; confrontare la ricevuta.'
    },
    RICEVUTA_NON_TROVATA: {
      statuses: [404],
      cause: 'Per quel giorno la Polizia non ha una ricevuta.',
      remedy: 'La ricevuta di un giorno esiste dal giorno dopo, per 30 giorni.'
    },
    APPARTAMENTO_RIFIUTATO: {
      statuses: [422],
      cause: 'La Polizia ha rifiutato il cambiamento.',
      remedy: 'Leggere `dettagli.messaggio_soap`.'
    }
  }
} satisfies ErrorSubject
