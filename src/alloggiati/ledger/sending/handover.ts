import { ACCESS_REFUSED, deliver, methodFor } from '../../service/calls.ts'
import type { PoliceService } from '../../service/police-service.ts'
import type { CallOptions } from '../../service/soap/transport.ts'
import { classifyFailure, classifyLogin, classifyReply, notSentVerdict, type Verdict } from './classify.ts'

/** The lines of one call; lines of 174 characters carry their apartment. */
export interface Handover { lines: readonly string[], id_appartamento: number | undefined }

/** A token for the calls that hand lines over, or the verdict that without one nothing is sent. */
type Login = { token: string, refused?: undefined } | { token?: undefined, refused: Verdict }

/** What a rehearsal proves, and the token of its call; null where there was no call. */
export interface Rehearsal { token: string | null, verdict: Verdict }

interface RehearsalOptions {
  /** Ends the rehearsal. */
  signal: AbortSignal
  /** Called with a token in hand; when it gives false there is no Test. */
  loggedIn?: () => Promise<boolean>
}

/**
 * A login and a Test. A Test registers nothing: without a usable reply nothing is in doubt, and nothing was sent. A
 * token that the service does not take any more is replaced once.
 * @returns undefined when `loggedIn` has said no
 */
export async function rehearse (
  service: PoliceService,
  handover: Handover,
  { signal, loggedIn }: RehearsalOptions
): Promise<Rehearsal | undefined> {
  for (let isFresh = false; ; isFresh = true) {
    const { token, refused } = await logIn(service, handover, signal)
    if (refused) return { token: null, verdict: refused }
    if (loggedIn && !await loggedIn()) return undefined
    const { verdict, tokenRefused } = await call(service, true, token, handover, { signal })
    if (tokenRefused && !isFresh) continue
    if (verdict.stato !== 'sconosciuto') return { token, verdict }
    const notSent = notSentVerdict('SERVIZIO_NON_RAGGIUNGIBILE', handover.lines.length)
    return { token, verdict: { ...notSent, errore: verdict.errore } }
  }
}

/** A Send, which cannot be undone. `options.beforeWrite` is the last moment at which the caller can stop it. */
export async function send (
  service: PoliceService,
  token: string,
  handover: Handover,
  options: Pick<CallOptions, 'beforeWrite'>
): Promise<Verdict> {
  return (await call(service, false, token, handover, options)).verdict
}

async function logIn (service: PoliceService, { lines }: Handover, signal: AbortSignal): Promise<Login> {
  try {
    return { token: await service.token.get(signal) }
  } catch (err) {
    return { refused: classifyLogin(err, lines.length) }
  }
}

/** One call and what it proves. */
async function call (
  service: PoliceService,
  test: boolean,
  token: string,
  { lines, id_appartamento }: Handover,
  options: CallOptions
): Promise<{ verdict: Verdict, tokenRefused: boolean }> {
  try {
    const reply = await deliver(service, methodFor(test, id_appartamento), token, lines, options)
    // After every kind of refusal the next call begins with a fresh login.
    if (!reply.esito.esito) service.token.invalidate(token)
    const tokenRefused = !reply.esito.esito && ACCESS_REFUSED.test(reply.esito.ErroreDes)
    return { verdict: classifyReply(reply, lines.length), tokenRefused }
  } catch (err) {
    return { verdict: classifyFailure(err, lines.length), tokenRefused: false }
  }
}
