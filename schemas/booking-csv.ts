import { Type, type Static } from '@sinclair/typebox'
import { BookingQuery } from './booking.ts'
import { Closed, Id, Nullable, Proposal, Upper } from './common.ts'

/* Bookings as CSV. */

/** Maximum rows of an import. */
export const IMPORT_ROWS_MAX = 5000
/** Maximum bytes of a file. */
export const IMPORT_BYTES_MAX = 4 * 1024 * 1024
/** Maximum entries in each list of the response. */
export const IMPORT_LISTED_MAX = 100

export const ImportForm = Closed({
  file: Type.Unsafe<Buffer>({
    contentMediaType: 'text/csv',
    description: `Il file CSV, con filename: al massimo ${IMPORT_BYTES_MAX / 1024 ** 2} MiB e ${IMPORT_ROWS_MAX} righe`
  })
}, { description: 'Un modulo con questo campo: `curl -F file=@prenotazioni.csv …`' })

export const ImportQuery = Closed({
  prova: Type.Optional(Type.Boolean({
    description: 'Dice che cosa sarebbe importato e che cosa è sbagliato, e non salva nulla. Se manca, true'
  })),
  paese_id: Type.Optional({ ...Id, description: 'Il paese delle righe che non lo dicono' }),
  lingua: Type.Optional(Upper(Type.String({
    pattern: '^[A-Z]{2}$', description: 'La lingua delle righe che non la dicono; se manca, IT', examples: ['IT']
  })))
})
export type ImportQuery = Static<typeof ImportQuery>

const riga = Type.Integer({ minimum: 1, description: 'La riga del file; la prima è 1' })

const ImportError = Closed({
  riga,
  colonna: Nullable(Type.String({ description: 'Il nome della colonna nel file; null se la colonna manca' })),
  campo: Type.String({ description: 'Il campo della prenotazione' }),
  messaggio: Type.String(),
  proposta: Type.Optional(Proposal)
})
export type ImportError = Static<typeof ImportError>

const Duplicate = Closed({
  riga,
  codice: Type.String(),
  prenotazione_id: Nullable({ ...Id, description: 'Chi ha già il codice; null se è una riga precedente del file' })
})
export type Duplicate = Static<typeof Duplicate>

const Count = (description: string) => Type.Integer({ minimum: 0, description })

export const ImportResponse = Closed({
  success: Type.Boolean({ description: 'Nessuna riga è sbagliata' }),
  message: Type.String(),
  prova: Type.Boolean(),
  righe: Count('Le righe del file, senza quella dei nomi'),
  importate: Count('Le prenotazioni importate; con `prova`, quelle che lo sarebbero'),
  totale_errori: Count(`Gli errori in tutto: \`errori\` ha i primi ${IMPORT_LISTED_MAX}`),
  totale_doppioni: Count('Le righe non importate perché il codice c’è già: `doppioni` ha le prime ' +
    String(IMPORT_LISTED_MAX)),
  errori: Type.Array(ImportError),
  doppioni: Type.Array(Duplicate),
  colonne: Type.Array(Closed({ colonna: Type.String(), campo: Type.String() }), {
    description: 'Le colonne riconosciute, e che cosa sono'
  }),
  colonne_ignorate: Type.Array(Type.String())
}, {
  examples: [{
    success: true,
    message: '1 prenotazione sarebbe importata',
    prova: true,
    righe: 2,
    importate: 1,
    totale_errori: 0,
    totale_doppioni: 1,
    errori: [],
    doppioni: [{ riga: 3, codice: 'HM4711', prenotazione_id: 12 }],
    colonne: [{ colonna: 'Confirmation code', campo: 'idf_gen' }],
    colonne_ignorate: ['Earnings']
  }]
})
export type ImportResponse = Static<typeof ImportResponse>

const { limit: _limit, cursor: _cursor, conteggio: _count, ...filters } = BookingQuery.properties

export const ExportQuery = Closed({
  ...filters,
  ospiti: Type.Optional(Type.Boolean({
    description: 'Una riga per ospite, con i suoi dati, invece di una per prenotazione'
  }))
})
export type ExportQuery = Static<typeof ExportQuery>

export const ExportFile = {
  description: 'UTF-8 con BOM, separatore punto e virgola, giorni 28/11/2026, importi con la virgola',
  content: {
    'text/csv': {
      schema: Type.String({
        examples: ['id;codice;ospite;arrivo;partenza\r\n1;BK-1;Anna Bianchi;21/11/2026;24/11/2026\r\n']
      })
    }
  }
}
