import { Type, type Static } from '@sinclair/typebox'
import { Closed, Day, Nullable } from './common.ts'

/* The integrity of the submission ledger. */

export const VerificaInviiQuery = Closed({
  da: Type.Optional({ ...Day, description: 'Arrivi da questo giorno; senza da e a: gli ultimi 30 giorni' }),
  a: Type.Optional({ ...Day, description: 'Arrivi fino a questo giorno' })
})

const Errata = Closed({
  /** Null if the fault concerns no single submission. */
  invio: Nullable(Type.Integer()),
  ricevuta: Nullable(Type.String()),
  motivo: Type.String()
})

export const VerificaInvii = Closed({
  integra: Type.Boolean({ description: 'In ciò che è stato controllato non manca niente e niente è stato alterato' }),
  completa: Type.Boolean({ description: 'false: il tempo non è bastato, restringere i giorni' }),
  da: Nullable(Day),
  a: Nullable(Day),
  invii_controllati: Type.Integer(),
  anelli: Type.Integer({ description: 'Transizioni controllate' }),
  invii_errati: Type.Integer(),
  prima_riga_errata: Nullable(Errata),
  status: Type.Integer()
}, {
  examples: [{
    integra: true,
    completa: true,
    da: '2026-10-22',
    a: null,
    invii_controllati: 12,
    anelli: 60,
    invii_errati: 0,
    prima_riga_errata: null,
    status: 200
  }]
})
export type VerificaInvii = Static<typeof VerificaInvii>
