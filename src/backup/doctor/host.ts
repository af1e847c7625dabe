import { once } from 'node:events'
import { access, constants } from 'node:fs/promises'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { isWithin } from '#src/config/backup-folder.ts'
import type { Config } from '#src/config/config.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { isLoopbackHost } from '#src/lib/addresses.ts'
import { diskSpace } from '#src/lib/disk-space.ts'
import { errorCode, isTlsCode } from '#src/lib/error-code.ts'
import { lastBackup, OLD_MS } from '../backup-retention.ts'
import { failure, fault, ok, warning, type Found } from './finding.ts'

const MIB = 1024 * 1024
const LOW_BYTES = 1024 * MIB
const FULL_BYTES = 64 * MIB

/** Free space in `DATA_DIR`. */
export async function disk ({ DATA_DIR }: Config): Found {
  const { free } = await diskSpace(DATA_DIR)
  const text = `${Math.floor(free / MIB)} MiB liberi in DATA_DIR`
  if (free < FULL_BYTES) return fault(`${text}: fare posto subito`)
  return free < LOW_BYTES ? warning(`${text}: fare posto`) : ok(text)
}

/** Checks the nightly backups, and the space for the next one, which is written before an old one is removed. */
export async function backups ({ BACKUP_DIR: folder, DATA_DIR }: Config): Found {
  if (folder === undefined) return warning('nessun salvataggio notturno: impostare BACKUP_DIR e BACKUP_PASSPHRASE')
  try {
    await access(folder, constants.W_OK)
    const { age, size } = await lastBackup(folder)
    const { free } = await diskSpace(folder)
    if (free < Math.max(size, FULL_BYTES)) {
      const last = age === Infinity ? '' : `, l’ultimo salvataggio ne ha ${Math.ceil(size / MIB)}`
      return fault(`${Math.floor(free / MIB)} MiB liberi in BACKUP_DIR${last}: fare posto`)
    }
    const inside = isWithin(DATA_DIR, folder)
      ? '; BACKUP_DIR è in DATA_DIR: chi perde quella cartella perde anche i salvataggi'
      : ''
    const made = age === Infinity
      ? 'in BACKUP_DIR non c’è ancora nessun salvataggio: «locanda job backup»'
      : age > OLD_MS
        ? 'l’ultimo salvataggio ha più di due giorni: vedere il lavoro «backup» in «locanda job»'
        : `l’ultimo è di ${countWithNoun(Math.round(age / 3_600_000), 'ora', 'ore')} fa`
    return age > OLD_MS || inside !== '' ? warning(made + inside) : ok(made)
  } catch (err) {
    return fault(`in BACKUP_DIR non si può scrivere (${errorCode(err)}): controllare cartella e permessi`)
  }
}

/** The location of the master key, and whether it is the key of this database. */
export async function masterKey ({ MASTER_KEY_ORIGIN: { file } }: Config, isOwn: boolean | undefined): Found {
  if (isOwn === false) return fault('non è la chiave di questo database: usare il file master.key di allora')
  return file === undefined
    ? ok('nella variabile MASTER_KEY: conservarne una copia')
    : ok(`in ${file}: conservarne una copia altrove`)
}

const TIMEOUT_MS = 10_000
const DAY_MS = 24 * 60 * 60_000
const RENEW_DAYS = 14

/** Checks that `PUBLIC_URL` is reachable. */
export async function publicUrl ({ PUBLIC_URL: url }: Config): Found {
  const { hostname, protocol } = new URL(url)
  const isHere = isLoopbackHost(hostname)
  if (hostname === '0.0.0.0' || hostname === '[::]') {
    return fault(`${url} non porta da nessuna parte: impostare PUBLIC_URL`)
  }
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const { status } = await fetch(`${url}/health/live`, { redirect: 'manual', signal })
    if (status !== 200) {
      return warning(`${url} risponde ${status}: ${isHere ? 'è un altro programma?' : 'il proxy porta altrove?'}`)
    }
    if (isHere) return ok(`${url} risponde; da altre macchine non si raggiunge: per loro serve PUBLIC_URL`)
    return protocol === 'http:'
      ? warning(`${url} è in chiaro: mettere davanti un proxy con https`)
      : ok(`${url} risponde`)
  } catch (err) {
    // The check `tls` reports this error.
    if (isTlsCode(errorCode(err))) return undefined
    const why = isHere ? 'ha un’altra PORT' : 'il proxy non lo raggiunge'
    return warning(`${url} non risponde (${errorCode(err)}): il server è fermo, o ${why}`)
  }
}

/** Checks TLS and the certificate of an https URL. */
export async function tls ({ PUBLIC_URL }: Config): Found {
  const { hostname, port, protocol } = new URL(PUBLIC_URL)
  if (protocol !== 'https:') return undefined
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const socket = connect({
    host, port: Number(port || 443), rejectUnauthorized: true, ...(isIP(host) ? {} : { servername: host })
  })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const left = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / DAY_MS)
    return left < RENEW_DAYS
      ? warning(`il certificato scade fra ${countWithNoun(left, 'giorno', 'giorni')}: rinnovarlo`)
      : ok(`certificato valido per ${countWithNoun(left, 'giorno', 'giorni')}`)
  } catch (err) {
    const code = errorCode(err)
    // Other codes mean that the server was not reached.
    return isTlsCode(code) ? fault(`${PUBLIC_URL}: ${failure(code, '')}`) : undefined
  } finally {
    socket.destroy()
  }
}

/** Lists the proxies whose `X-Forwarded-*` headers are trusted. Warns when an https server trusts none. */
export async function proxy ({ PUBLIC_URL, TRUST_PROXY }: Config): Found {
  if (TRUST_PROXY.length > 0) return ok(`intestazioni accettate da ${TRUST_PROXY.join(', ')}`)
  return PUBLIC_URL.startsWith('https:')
    ? warning('PUBLIC_URL è https e TRUST_PROXY è vuota: ogni client risulta con l’indirizzo del proxy; impostarla')
    : ok('nessuno')
}
