import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import type { Config } from '#src/config/config.ts'
import { isLoopbackHost } from '#src/lib/addresses.ts'
import { codeOf, fault, ok, warning, type Look } from './finding.ts'

const WITHIN_MS = 10_000
const DAY_MS = 24 * 60 * 60_000
const RENEW_DAYS = 14
/**
 * The server was not reached, so that nothing is known of its certificate. From inside a network its own public address
 * often cannot be reached.
 */
const AWAY = [
  'ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'AbortError',
  'ABORT_ERR'
]

/** Whether clients reach the server where they are told that it is. */
export function publicUrl ({ PUBLIC_URL: url }: Config): Look {
  return async () => {
    const { hostname, protocol } = new URL(url)
    const isHere = isLoopbackHost(hostname)
    if (hostname === '0.0.0.0' || hostname === '[::]') {
      return fault(`${url} non porta da nessuna parte: impostare PUBLIC_URL`)
    }
    try {
      const signal = AbortSignal.timeout(WITHIN_MS)
      const { status } = await fetch(`${url}/health/live`, { redirect: 'manual', signal })
      if (status !== 200) {
        return warning(`${url} risponde ${status}: ${isHere ? 'è un altro programma?' : 'il proxy porta altrove?'}`)
      }
      if (isHere) return ok(`${url} risponde; da altre macchine non si raggiunge: per loro serve PUBLIC_URL`)
      return protocol === 'http:'
        ? warning(`${url} è in chiaro: mettere davanti un proxy con https`)
        : ok(`${url} risponde`)
    } catch (err) {
      const why = isHere ? 'ha un’altra PORT' : 'il proxy non lo raggiunge'
      return warning(`${url} non risponde (${codeOf(err)}): il server è fermo, o ${why}`)
    }
  }
}

/** The certificate of an https address. */
export function tls ({ PUBLIC_URL }: Config): Look {
  return async () => {
    const { hostname, port, protocol } = new URL(PUBLIC_URL)
    if (protocol !== 'https:') return undefined
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const socket = connect({
      host, port: Number(port || 443), rejectUnauthorized: true, ...(isIP(host) ? {} : { servername: host })
    })
    try {
      await once(socket, 'secureConnect', { signal: AbortSignal.timeout(WITHIN_MS) })
      const left = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / DAY_MS)
      return left < RENEW_DAYS
        ? warning(`il certificato scade fra ${left} giorni: rinnovarlo`)
        : ok(`certificato valido per ${left} giorni`)
    } catch (err) {
      const code = codeOf(err)
      return AWAY.includes(code) ? undefined : fault(`il certificato non è accettato (${code})`)
    } finally {
      socket.destroy()
    }
  }
}

/** Whose `X-Forwarded-*` headers count. */
export function proxy ({ PUBLIC_URL, TRUST_PROXY }: Config): Look {
  return async () => {
    const isHttps = PUBLIC_URL.startsWith('https:')
    if (TRUST_PROXY.length > 0) return ok(`si crede a ${TRUST_PROXY.join(', ')}`)
    return isHttps
      ? warning('PUBLIC_URL è https e TRUST_PROXY è vuota: chi chiama ha sempre l’indirizzo del proxy; impostarla')
      : ok('nessuno')
  }
}
