import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, NotEmpty, Nullable, OneOf, Ref, Text } from './common.ts'
import { DETAIL_EXAMPLE, InvioDetail } from './invio.ts'
import { DECISIONS } from './submission.ts'

/* A person's decisions about a submission, and about sending in general. */

/** Ten characters other than whitespace. For a shorter text the error names only the length. */
export const Motivo = Text(1000, {
  minLength: 10,
  pattern: '^(?=(\\s*\\S){10}|.{0,9}$)[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$',
  description: 'Almeno 10 caratteri',
  examples: ['Verificato sul portale della Questura']
})

/** At least one character other than whitespace. */
export const NOT_BLANK = { minLength: 1, pattern: '^(?=.*\\S|$)[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$' }

export const DecisionBody = Closed(
  {
    decisione: OneOf(DECISIONS, {
      description: '`reinvia`: si invia di nuovo; `acquisito`: la Polizia l’ha acquisito; `depositato`: comunicato ' +
        'per altra via (portale, PEC); `annulla`: si abbandona'
    }),
    motivo: Motivo,
    protocollo: Type.Optional(
      Text(100, { ...NOT_BLANK, description: 'Obbligatorio per depositato: il protocollo del portale o della PEC' })
    ),
    versione: Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: 'La versione su cui si decide (ETag)' }),
    conferma: Text(60, {
      description: 'Scritta a mano: numero di ospiti e data di arrivo',
      examples: ['2 ospiti 2026-11-21']
    })
  },
  {
    examples: [
      {
        decisione: 'reinvia',
        motivo: 'La schedina non risulta sul portale della Questura',
        versione: 3,
        conferma: '1 ospite 2026-11-21'
      }
    ]
  }
)
export type DecisionBody = Static<typeof DecisionBody>

export const DecisionResponse = Closed(
  { message: Type.String(), data: Ref(InvioDetail), status: Type.Integer() },
  {
    examples: [
      { message: 'Decisione registrata. Stato dell’invio: esito sconosciuto', data: DETAIL_EXAMPLE, status: 200 }
    ]
  }
)

export const CorrectionBody = Closed(
  {
    motivo: Motivo,
    protocollo: Type.Optional(Text(100, { ...NOT_BLANK, description: 'Il protocollo della PEC o della Questura' })),
    riga: Type.Optional(NotEmpty(
      Type.Integer({ minimum: 0, maximum: 999, description: 'L’indice della schedina sbagliata' })
    ))
  },
  { examples: [{ motivo: 'Data di nascita errata: chiesta la correzione via PEC', protocollo: 'PEC 4711', riga: 0 }] }
)
export type CorrectionBody = Static<typeof CorrectionBody>

export const CorrectionResponse = Closed(
  { message: Type.String(), data: Ref(InvioDetail), status: Type.Integer() },
  { examples: [{ message: 'Richiesta di correzione registrata', data: DETAIL_EXAMPLE, status: 201 }] }
)

export const SuspensionState = Closed(
  { sospeso: Type.Boolean(), motivo: Nullable(Type.String()), chi: Nullable(Type.String()), dal: Nullable(Instant) },
  {
    $id: 'SospensioneInvii',
    examples: [
      {
        sospeso: true,
        motivo: 'Controllo delle credenziali',
        chi: 'user:amministratore-1',
        dal: '2026-11-21T09:30:00.000Z'
      }
    ]
  }
)
export type SuspensionState = Static<typeof SuspensionState>
export const SuspensionBody = Closed({
  sospeso: Type.Boolean({ description: '`true`: non parte più nessun invio; `false`: si riprende' }),
  motivo: Text(500, { minLength: 1 })
}, {
  examples: [{ sospeso: true, motivo: 'Controllo delle credenziali' }]
})

export const PoliceAccount = Closed({
  utente: Nullable(Type.String()),
  modalita: OneOf(['sandbox', 'production']),
  /** Whether no other program sends with this account. Then matching totals on a receipt prove an acquisition. */
  canale_esclusivo: Type.Boolean()
}, { $id: 'AccountPolizia', examples: [{ utente: 'RM000001', modalita: 'production', canale_esclusivo: false }] })
export type PoliceAccount = Static<typeof PoliceAccount>
export const PoliceAccountBody = Closed(
  {
    canale_esclusivo: Type.Boolean({
      description: '`true`: con questo account invia soltanto questo server, e una ricevuta che corrisponde è una prova'
    })
  },
  { examples: [{ canale_esclusivo: true }] }
)
