import { deliver, methodFor } from '../service/calls.ts'
import type { PoliceService } from '../service/police-service.ts'
import type { CallOptions } from '../service/soap/transport.ts'
import { classifyFailure, classifyLogin, classifyReply, notSentVerdict, type Verdict } from './classify.ts'

/** The lines of one call; lines of 174 characters carry their apartment. */
export interface Handover { lines: readonly string[], id_appartamento: number | undefined }

/** A token for the calls that hand lines over, or the verdict that without one nothing is sent. */
export type Login = { token: string, refused?: undefined } | { token?: undefined, refused: Verdict }

export async function logIn (service: PoliceService, { lines }: Handover): Promise<Login> {
  try {
    return { token: await service.token.get() }
  } catch (err) {
    return { refused: classifyLogin(err, lines.length) }
  }
}

/** A Test. It registers nothing: without a usable reply nothing is in doubt, and nothing was sent. */
export async function rehearse (service: PoliceService, token: string, handover: Handover): Promise<Verdict> {
  const verdict = await call(service, true, token, handover)
  if (verdict.stato !== 'sconosciuto') return verdict
  return { ...notSentVerdict('SERVIZIO_NON_RAGGIUNGIBILE', handover.lines.length), errore: verdict.errore }
}

/** A Send, which cannot be undone. `options.beforeWrite` is the last moment at which the caller can stop it. */
export function send (
  service: PoliceService,
  token: string,
  handover: Handover,
  options: Pick<CallOptions, 'beforeWrite'>
): Promise<Verdict> {
  return call(service, false, token, handover, options)
}

/** One call and what it proves. */
async function call (
  service: PoliceService,
  test: boolean,
  token: string,
  { lines, id_appartamento }: Handover,
  options?: CallOptions
): Promise<Verdict> {
  try {
    const reply = await deliver(service, methodFor(test, id_appartamento), token, lines, options)
    // After every kind of refusal the next call begins with a fresh login.
    if (!reply.esito.esito) service.token.invalidate(token)
    return classifyReply(reply, lines.length)
  } catch (err) {
    return classifyFailure(err, lines.length)
  }
}
