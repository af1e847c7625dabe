import type { ErrorEntry, ErrorSubject } from './entry.ts'

/** Template errors have line and column. */
const inTemplate = (cause: string): ErrorEntry => ({
  statuses: [400],
  cause,
  remedy: 'Correggere il modello a `riga` e `colonna`.'
})

export const PDF = {
  title: 'Lettere, report, modelli',
  errors: {
    LETTERA_ESISTENTE: {
      statuses: [409],
      cause: 'La prenotazione ha già una lettera.',
      remedy: 'Leggere la lettera, o eliminarla prima di crearne un’altra.'
    },
    LETTERA_NON_TROVATA: {
      statuses: [404],
      cause: 'La prenotazione non ha una lettera.',
      remedy: 'Creare prima la lettera.'
    },
    LOGO_NON_TROVATO: {
      statuses: [404],
      cause: 'La struttura non ha un logo.',
      remedy: 'Caricare il logo in `/api/v1/struttura/logo`.'
    },
    PDF_NON_TROVATO: { statuses: [404], cause: 'Nessun PDF ha questo id.', remedy: 'Cercarlo nella cronologia.' },
    PDF_DI_LETTERA: {
      statuses: [409],
      cause: 'Il PDF appartiene a una lettera.',
      remedy: 'Eliminare la lettera: il PDF viene eliminato insieme.'
    },
    MODELLO_NON_TROVATO: { statuses: [404], cause: 'Nessun modello ha questo id.', remedy: 'Leggere l’elenco.' },
    VERSIONE_NON_TROVATA: {
      statuses: [404],
      cause: 'Il modello non ha questa versione.',
      remedy: 'Leggere le sue versioni.'
    },
    MODELLO_CAMBIATO: {
      statuses: [412],
      cause: 'Il modello è cambiato dopo che è stato letto.',
      remedy: 'Rileggerlo e ripetere il cambiamento.'
    },
    MODELLO_PREDEFINITO: {
      statuses: [409],
      cause: 'I modelli predefiniti non si possono modificare.',
      remedy: 'Salvare una copia con un altro id.'
    },
    MOTORE_PDF_INCOMPRENSIBILE: {
      statuses: [502],
      cause: 'Il motore PDF esterno non ha restituito un PDF.',
      remedy: 'Chi gestisce il server deve controllare `PDF_ENGINE_URL`.'
    },
    MOTORE_PDF_RIFIUTA: {
      statuses: [502],
      cause: 'Il motore PDF esterno non ha accettato il documento.',
      remedy: 'Leggere il motivo nel testo. Spesso la chiave non è valida.'
    },
    MOTORE_PDF_IRRAGGIUNGIBILE: {
      statuses: [503],
      cause: 'Il motore PDF esterno non risponde.',
      remedy: 'Riprovare più tardi.'
    },
    MOTORE_PDF_OCCUPATO: {
      statuses: [503],
      cause: 'Il motore PDF esterno ha troppo lavoro.',
      remedy: 'Riprovare fra poco.'
    },
    MOTORE_PDF_TROPPO_LENTO: {
      statuses: [503],
      cause: 'Il motore PDF esterno non ha finito in tempo. Forse ha creato e addebitato il documento.',
      remedy: 'Controllare nel motore prima di ripetere.'
    },
    DATI_NON_VALIDI: {
      statuses: [400],
      cause: 'I dati non sono adatti al modello.',
      remedy: 'Correggere i campi elencati in `dettagli`.'
    },
    CSV_NON_VALIDO: {
      statuses: [400],
      cause: 'Il file CSV ha una riga non valida.',
      remedy: 'Correggere la riga indicata nel testo.'
    },
    LIMITE_SUPERATO: {
      statuses: [400],
      cause: 'Il documento sarebbe troppo lungo o troppo complicato.',
      remedy: 'Leggere il limite nel testo, e dividere il documento.'
    },
    SINTASSI_NON_VALIDA: inTemplate('Un’istruzione del modello è scritta male.'),
    ISTRUZIONE_SCONOSCIUTA: inTemplate('Il modello usa un’istruzione o un filtro che non esiste.'),
    XML_NON_BEN_FORMATO: inTemplate('Il modello non è ben formato: per esempio un elemento non è chiuso.'),
    ELEMENTO_SCONOSCIUTO: inTemplate('Il modello usa un elemento che non esiste.'),
    ELEMENTO_FUORI_POSTO: inTemplate('Un elemento è in una posizione non ammessa.'),
    ATTRIBUTO_SCONOSCIUTO: inTemplate('Un elemento ha un attributo che non esiste.'),
    ATTRIBUTO_MANCANTE: inTemplate('A un elemento manca un attributo.'),
    VALORE_NON_VALIDO: inTemplate('Un attributo o un filtro ha un valore non ammesso.'),
    STILE_NON_AMMESSO: inTemplate('Uno stile non esiste, o non lascia spazio al contenuto.'),
    COLLEGAMENTO_NON_AMMESSO: inTemplate('Un collegamento ha un indirizzo non ammesso.')
  }
} satisfies ErrorSubject
