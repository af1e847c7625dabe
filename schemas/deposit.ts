import { Type, type Static } from '@sinclair/typebox'
import { Conferma, FileBody } from './alloggiati.ts'
import { Closed, Ref, Text } from './common.ts'
import { Motivo, NOT_BLANK } from './decisions.ts'
import { DETAIL_EXAMPLE, InvioDetail } from './invio.ts'

/** A file for certified mail that was delivered: the same guests and stay as in the request for the file. */
export const DepositBody = Closed({
  ...FileBody.properties,
  motivo: Motivo,
  protocollo: Text(100, { ...NOT_BLANK, description: 'Il protocollo della PEC o del portale' }),
  confermo_diverso: Conferma.confermo_diverso
}, {
  examples: [{ ...FileBody.examples[0], motivo: 'Proroga trovata tardi, inviata via PEC', protocollo: 'PEC 4711' }]
})
export type DepositBody = Static<typeof DepositBody>

export const DepositResponse = Closed(
  { message: Type.String(), data: Ref(InvioDetail), status: Type.Integer() },
  { examples: [{ message: '1 schedina registrata come comunicata per altra via', data: DETAIL_EXAMPLE, status: 201 }] }
)
