import { Type, type Static } from '@sinclair/typebox'
import { Closed, Day, errorWith, Id, Instant, NotEmpty, Nullable, OneOf, Ref } from './common.ts'
import { Motivo } from './decisions.ts'
import { Mascherata } from './invio.ts'
import { Schedina, Segnalazione, Soggiorno } from './schedina.ts'
import { STATE_NAMES } from './submission.ts'

const GUEST_EXAMPLE = {
  tipo_alloggiato: '16',
  cognome: 'Bianchi',
  nome: 'Anna',
  sesso: 'F',
  data_nascita: '1985-04-12',
  comune_nascita: '412058091',
  provincia_nascita: 'RM',
  stato_nascita: '100000100',
  cittadinanza: '100000100',
  tipo_documento: 'IDELE',
  numero_documento: 'CA12345AA',
  luogo_rilascio: '412058091'
}
const STAY_EXAMPLE = { check_in: '2026-11-21', numero_notti: 3 }

const Ospiti = Type.Array(Schedina, { minItems: 1, maxItems: 1000 })

export const ValidaBody = Closed({ ospiti: Ospiti, prenotazione: Soggiorno }, {
  examples: [{ ospiti: [GUEST_EXAMPLE], prenotazione: STAY_EXAMPLE }]
})

export const ValidaResponse = Closed(
  { valid: Type.Boolean(), errors: Type.Array(Ref(Segnalazione)), warnings: Type.Array(Ref(Segnalazione)) },
  {
    examples: [
      {
        valid: false,
        errors: [
          { ospite: 0, campo: 'provincia_nascita', messaggio: 'La provincia va indicata solo per i nati in Italia' }
        ],
        warnings: []
      }
    ]
  }
)

/**
 * A person's confirmation that these guests differ from those sent before, or exceed the booking's number. The handler
 * requires both fields together.
 */
export const Conferma = {
  confermo_diverso: Type.Optional(Type.Boolean({ description: 'Sono altre persone: serve motivo' })),
  motivo: Type.Optional(Motivo)
}

export const TestMode = NotEmpty(Type.Boolean({
  description: '`true`: solo la prova del servizio; non si invia e non si registra nulla'
}))
const GivenStay = Type.Optional(NotEmpty(Soggiorno))

/** `prenotazione` or `soggiorno`: the handler requires one, with an error that names both. */
export const InvioBody = Closed({
  ospiti: Ospiti,
  prenotazione: GivenStay,
  soggiorno: GivenStay,
  testMode: Type.Optional(TestMode),
  ...Conferma
}, { examples: [{ ospiti: [GUEST_EXAMPLE], prenotazione: { id: 1, ...STAY_EXAMPLE }, testMode: true }] })
export type InvioBody = Static<typeof InvioBody>

/** The body of the request for the file that is uploaded by hand: `InvioBody` without test mode. */
export const FileBody = Closed(
  { ospiti: Ospiti, prenotazione: GivenStay, soggiorno: GivenStay },
  {
    examples: [{ ospiti: [GUEST_EXAMPLE], prenotazione: STAY_EXAMPLE }]
  }
)
export type FileBody = Static<typeof FileBody>

export const InvioResponse = Closed({
  success: Type.Boolean(),
  message: Type.String(),
  /** Our reference of the submission. Empty for a test call, which leaves no trace. */
  ricevuta: Type.String(),
  dettagli: Closed({
    schedine_inviate: Type.Integer(),
    metodo: Type.String(),
    /** The booking of the submission. */
    prenotazione_id: Nullable(Type.Integer())
  }),
  /** Warnings of the rules, and changes to the guests' data made for the police format. */
  avvisi: Type.Optional(Type.Array(Ref(Segnalazione)))
}, {
  examples: [{
    success: true,
    message: '1 schedina acquisita',
    ricevuta: 'AW-20261121-1',
    dettagli: { schedine_inviate: 1, metodo: 'Send', prenotazione_id: 1 }
  }]
})
export type InvioResponse = Static<typeof InvioResponse>

/** The service's result for one guest. */
export const EsitoSchedina = Closed({
  ospite: Type.Integer({ minimum: 0 }),
  esito: OneOf(['acquisita', 'valida', 'rifiutata']),
  codice_errore: Type.String(),
  messaggio_soap: Type.String(),
  dettaglio: Type.String()
}, { $id: 'EsitoSchedina' })
export type EsitoSchedina = Static<typeof EsitoSchedina>

/** A failed submission: 422. */
export const InvioFailure = errorWith({
  ricevuta: Type.Optional(Type.String()),
  errors: Type.Optional(Type.Array(Ref(Segnalazione))),
  schedine: Type.Optional(Type.Array(Ref(EsitoSchedina)))
}, {
  $id: 'InvioFallito',
  examples: [{
    success: false,
    error: 'Il servizio ha rifiutato una o più schedine: ospite 1: SCHEDINA_CAMPO_NON_CORRETTO: Data di Arrivo Errata',
    dettagli: { codice_errore: '12', messaggio_soap: 'ospite 1: SCHEDINA_CAMPO_NON_CORRETTO: Data di Arrivo Errata' },
    status: 422,
    codice: 'SCHEDINE_RIFIUTATE',
    requestId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f'
  }]
}, {
  success: Type.Boolean(),
  error: Type.String(),
  dettagli: Closed({ codice_errore: Type.String(), messaggio_soap: Type.String() })
})

/** A submission in progress, for a caller who asked not to wait: 202. It is not a success yet. */
export const InvioUnderWay = errorWith({ ricevuta: Type.Optional(Type.String()) }, {
  $id: 'InvioPresoInCarico',
  examples: [{
    success: false,
    error: 'L’invio è in corso e prosegue da solo: non va ripetuto, l’esito si legge con la ricevuta',
    dettagli: { codice_errore: 'INVIO_IN_CORSO', messaggio_soap: '' },
    status: 202,
    codice: 'INVIO_IN_CORSO',
    requestId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f',
    ricevuta: 'AW-20261121-1'
  }]
}, {
  success: Type.Boolean({ description: 'false: non si sa ancora' }),
  error: Type.String(),
  dettagli: Closed({ codice_errore: Type.String(), messaggio_soap: Type.String() })
})

/** An earlier row, or another guest of the list, that may be the same guest. */
const Duplicato = Closed({
  ospite: Type.Integer({ minimum: 0 }),
  ricevuta: Nullable(Type.String({ description: 'L’invio precedente; null: lo stesso elenco' })),
  stato: Nullable(OneOf(STATE_NAMES)),
  motivo: OneOf(['stessa_persona', 'stesso_documento']),
  /** The other guest in the same list. */
  altro_ospite: Type.Optional(Type.Integer({ minimum: 0 }))
})
export type Duplicato = Static<typeof Duplicato>

/** A guest of the booking who has been sent to the police, or may have been. */
const GiaInviato = Closed({ ricevuta: Type.String(), stato: OneOf(STATE_NAMES), ospite: Nullable(Mascherata) })
export type GiaInviato = Static<typeof GiaInviato>

/** 409: a guest was, is being or may have been sent, the booking has fewer guests, or nothing is left to send. */
export const InvioDuplicate = errorWith({
  ricevuta: Type.Optional(Type.String()),
  /** The state of a submission in progress. */
  stato: Type.Optional(OneOf(STATE_NAMES)),
  /** Time of the next attempt, if one is scheduled. */
  riprova_il: Type.Optional(Instant),
  ospiti: Type.Optional(Type.Array(Type.Integer())),
  duplicati: Type.Optional(Type.Array(Duplicato)),
  prenotazione_id: Type.Optional(Id),
  numero_ospiti: Type.Optional(Type.Integer()),
  gia_inviati: Type.Optional(Type.Array(GiaInviato)),
  ricevute: Type.Optional(Type.Array(Type.String()))
}, {
  $id: 'InvioGiaFatto',
  examples: [{
    error: 'Ospite già inviato, o di esito sconosciuto, con la ricevuta AW-20261121-1: ospite 1 (stessa persona)',
    status: 409,
    codice: 'SCHEDINE_GIA_INVIATE',
    requestId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f',
    ricevuta: 'AW-20261121-1',
    ospiti: [0],
    duplicati: [{ ospite: 0, ricevuta: 'AW-20261121-1', stato: 'acquisito', motivo: 'stessa_persona' }]
  }]
})

export const CheckResponse = Closed(
  { connected: Type.Boolean(), message: Type.String(), endpoint: Type.String() },
  {
    examples: [
      {
        connected: true,
        message: 'Connessione ad Alloggiati Web riuscita',
        endpoint: 'http://127.0.0.1:40123/service/service.asmx'
      }
    ]
  }
)
export const CheckFailure = errorWith(
  {},
  {
    $id: 'ConnessioneFallita',
    examples: [
      {
        connected: false,
        error: 'Credenziali Alloggiati Web non configurate',
        status: 503,
        codice: 'CREDENZIALI_MANCANTI',
        requestId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f'
      }
    ]
  },
  { connected: Type.Boolean() }
)

export const SandboxRecords = Closed(
  {
    data: Type.Array(
      Closed({
        id: Id,
        riga: Type.String(),
        giorno: Day,
        acquisita_il: Type.String(),
        id_appartamento: Nullable(Type.Integer())
      })
    )
  },
  {
    examples: [
      {
        data: [
          {
            id: 1,
            riga: '1621/11/202603BIANCHI',
            giorno: '2026-11-21',
            acquisita_il: '2026-11-21T09:31:00.000Z',
            id_appartamento: null
          }
        ]
      }
    ]
  }
)
