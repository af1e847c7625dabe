import type { Clock } from '#src/lib/time.ts'
import type { SoapClient } from './soap-client.ts'
import type { TokenInfo } from './contract.ts'
import { abortKind } from './soap-transport.ts'
import { AlloggiatiCredentialsError, SoapTransportError } from './errors.ts'
import { malformedReply } from './decode-response.ts'

export interface Credentials { utente: string, password: string, wskey: string }

export interface TokenSource {
  /**
   * Returns a token that stays valid for a while. Parallel callers share one login.
   * @throws AlloggiatiCredentialsError when the login is refused, and for the next 15 minutes, SoapTransportError
   * without a reply
   * @param signal aborts the wait. A login in progress continues for other callers
   */
  get (signal?: AbortSignal): Promise<string>
  /**
   * Drops `token`, which the service has refused, but keeps a newer one. Without an argument, drops any token. Even
   * then a refused login is not repeated for `REFUSAL_MS`. Changed credentials need a restart, which logs in at once.
   */
  invalidate (token?: string): void
}

const MAX_MARGIN_MS = 5 * 60_000
const MARGIN_SHARE = 0.1
/** Several wrong passwords in a row may lock the account. */
const REFUSAL_MS = 15 * 60_000

interface KeptToken { token: string, until: number }

/** Logs in on demand. Caches the token until 5 minutes, or if shorter a tenth of its lifetime, before it expires. */
export function tokenSource (
  client: Pick<SoapClient, 'GenerateToken'>, credentials: Credentials, clock: Clock
): TokenSource {
  let kept: KeptToken | undefined
  let login: Promise<KeptToken> | undefined
  let refusal: { error: AlloggiatiCredentialsError; until: number } | undefined

  async function logIn (): Promise<KeptToken> {
    const { utente: Utente, password: Password, wskey: WsKey } = credentials
    const { result: { GenerateTokenResult, result }, raw } = await client.GenerateToken({ Utente, Password, WsKey })
    if (!result.esito) {
      const descrizione = [result.ErroreDes, result.ErroreDettaglio].filter((text) => text !== '').join(': ')
      throw new AlloggiatiCredentialsError(result.ErroreCod, descrizione)
    }
    if (GenerateTokenResult === undefined || GenerateTokenResult.token === '') throw malformedReply(raw, 'token')
    return { token: GenerateTokenResult.token, until: usableUntil(GenerateTokenResult, clock.now()) }
  }

  async function start (): Promise<string> {
    const mine = logIn()
    login = mine
    try {
      const fresh = await mine
      if (login === mine) kept = fresh
      return fresh.token
    } catch (error) {
      if (login === mine && error instanceof AlloggiatiCredentialsError) {
        refusal = { error, until: clock.now().getTime() + REFUSAL_MS }
      }
      throw error
    } finally {
      if (login === mine) login = undefined
    }
  }

  return {
    async get (signal) {
      const now = clock.now().getTime()
      if (kept && now < kept.until) return kept.token
      if (refusal && now < refusal.until) throw refusal.error
      return untilAborted(signal, login ? login.then(({ token }) => token) : start())
    },
    invalidate (token) {
      if (token !== undefined && token !== kept?.token) return
      kept = undefined
    }
  }
}

/** Waits for work until the signal aborts. The work continues. */
async function untilAborted<T> (signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return work
  const { promise, reject } = Promise.withResolvers<never>()
  const giveUp = () => reject(new SoapTransportError(abortKind(signal), { sent: true }))
  if (signal.aborted) giveUp()
  signal.addEventListener('abort', giveUp)
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/**
 * The renewal time in milliseconds since the epoch. It uses the expiry or the lifetime, whichever ends first, because
 * the service's clock may differ.
 */
function usableUntil ({ issued, expires }: TokenInfo, now: Date): number {
  const life = expires.getTime() - issued.getTime()
  return Math.min(expires.getTime(), now.getTime() + life) - Math.min(MAX_MARGIN_MS, life * MARGIN_SHARE)
}
