import type { ErrorSubject } from './entry.ts'

export const POLICE = {
  title: 'Alloggiati Web',
  errors: {
    VALIDAZIONE: {
      statuses: [422],
      cause: 'Una o più schedine hanno errori: nessuna è stata inviata.',
      remedy: 'Correggere gli ospiti elencati in `errors`, poi inviare.'
    },
    CREDENZIALI_MANCANTI: {
      statuses: [422, 503],
      cause: 'Al server mancano utente, password o chiave di Alloggiati Web.',
      remedy: 'Chi gestisce il server deve impostare `ALLOGGIATI_UTENTE`, `ALLOGGIATI_PASSWORD` e `ALLOGGIATI_WSKEY`.'
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
      cause: 'Una persona o un ripristino ha sospeso gli invii: nulla è stato inviato.',
      remedy: 'Un amministratore deve confrontare le ricevute e riprendere gli invii.'
    },
    CARTELLA_NON_SCRIVIBILE: {
      statuses: [422, 503],
      cause: 'Il server non può registrare l’invio nella cartella dati, quindi non ha inviato nulla.',
      remedy: 'Chi gestisce il server deve controllare spazio e permessi della cartella dati.'
    },
    RIFIUTATO_DAL_SERVIZIO: {
      statuses: [422],
      cause: 'La Polizia ha rifiutato l’intera richiesta: nessuna schedina è stata acquisita.',
      remedy: 'Leggere `dettagli.messaggio_soap`, correggere la causa e inviare di nuovo.'
    },
    SCHEDINE_RIFIUTATE: {
      statuses: [422],
      cause: 'La Polizia ha rifiutato alcune schedine. Le altre possono essere state acquisite.',
      remedy: 'Correggere gli ospiti indicati in `schedine` e inviare quelli che mancano.'
    },
    INVIO_IN_CORSO: {
      statuses: [202, 409, 422],
      cause: 'Un invio di queste persone non è ancora concluso.',
      remedy: 'Non ripetere: l’invio prosegue da solo. Leggere l’esito in `/api/v1/invii`.'
    },
    NON_INVIATO: {
      statuses: [422],
      cause: 'Nessuna schedina è stata inviata.',
      remedy: 'Inviare di nuovo, con la stessa `Idempotency-Key`.'
    },
    INVIO_ANNULLATO: {
      statuses: [422],
      cause: 'Un amministratore ha annullato l’invio prima che partisse.',
      remedy: 'Se le schedine servono ancora, inviarle di nuovo.'
    },
    ESITO_SCONOSCIUTO: {
      statuses: [202, 422],
      cause: 'La risposta della Polizia non è arrivata: le schedine possono essere state acquisite.',
      remedy: 'Non inviare di nuovo. Controllare l’esito sul portale, o nella ricevuta di domani.'
    },
    SCHEDINE_GIA_INVIATE: {
      statuses: [409],
      cause: 'Queste persone sono già state inviate per lo stesso arrivo.',
      remedy: 'Inviare gli altri ospiti con `solo_mancanti`.'
    },
    OSPITI_CAMBIATI: {
      statuses: [409],
      cause: 'La prenotazione ha ospiti diversi da quelli già inviati.',
      remedy: 'Controllare chi alloggia davvero. Il testo dice come inviare gli altri ospiti.'
    },
    OSPITI_OLTRE_LA_PRENOTAZIONE: {
      statuses: [409],
      cause: 'Gli ospiti inviati supererebbero `numero_ospiti`.',
      remedy: 'Correggere `numero_ospiti`, o gli ospiti.'
    },
    INVIATA_CON_ALTRO_ACCOUNT: {
      statuses: [409],
      cause: 'Ospiti della prenotazione sono già inviati con l’account della struttura in cui era prima.',
      remedy: 'Riportarla in una unità di quella struttura, o confermare gli altri con `confermo_diverso`.'
    },
    ACCOUNT_DELL_AMBIENTE: {
      statuses: [409],
      cause: 'Le variabili `ALLOGGIATI_*` danno l’account della prima struttura: qui non si cambia.',
      remedy: 'Cambiare le variabili e riavviare il server, o toglierle per salvare qui l’account.'
    },
    ACCOUNT_IN_USO: {
      statuses: [409],
      cause: 'L’account ha invii ancora aperti.',
      remedy: 'Attendere le ricevute, o decidere degli invii in `/api/v1/invii`.'
    },
    ACCOUNT_NON_TROVATO: {
      statuses: [404],
      cause: 'La struttura non ha un account della Polizia salvato qui.',
      remedy: 'Salvarlo con `PUT /api/v1/strutture/{id}/polizia`.'
    },
    PRENOTAZIONE_CAMBIATA: {
      statuses: [409, 422],
      cause: 'La prenotazione è cambiata dopo la richiesta: nulla è stato inviato.',
      remedy: 'Rileggere la prenotazione e inviare di nuovo.'
    },
    PRENOTAZIONE_NON_CONFERMATA: {
      statuses: [409],
      cause: 'La prenotazione è annullata, o gli ospiti non si sono presentati: nulla è stato inviato.',
      remedy: 'Se gli ospiti sono arrivati, riportare `stato` a `confermata` con `PUT /api/v1/prenotazioni/{id}`.'
    },
    NULLA_DA_INVIARE: {
      statuses: [409],
      cause: 'Tutti gli ospiti salvati sono già stati inviati.',
      remedy: 'Leggere le ricevute nella risposta.'
    },
    INVIO_NON_TROVATO: { statuses: [404], cause: 'Nessun invio ha questo id.', remedy: 'Cercarlo in `/api/v1/invii`.' },
    INVIO_CAMBIATO: {
      statuses: [409],
      cause: 'L’invio è cambiato dopo che è stato letto.',
      remedy: 'Rileggere l’invio e decidere di nuovo.'
    },
    NULLA_DA_DECIDERE: {
      statuses: [409],
      cause: 'Lo stato dell’invio non richiede una decisione.',
      remedy: 'Leggere lo stato: si può decidere solo su `sconosciuto` e `da_verificare`.'
    },
    DECISIONE_NON_POSSIBILE: {
      statuses: [409],
      cause: 'La decisione contraddice i dati dell’invio.',
      remedy: 'Leggere il motivo nel testo, e confrontare la ricevuta.'
    },
    RICEVUTA_NON_TROVATA: {
      statuses: [404],
      cause: 'Per quel giorno la Polizia non ha una ricevuta.',
      remedy: 'La ricevuta di un giorno esiste dal giorno dopo, per 30 giorni.'
    },
    APPARTAMENTO_RIFIUTATO: {
      statuses: [422],
      cause: 'La Polizia ha rifiutato la modifica.',
      remedy: 'Leggere `dettagli.messaggio_soap`.'
    }
  }
} satisfies ErrorSubject
