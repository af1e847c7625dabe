import postgres from 'postgres'
import { LOCKS } from '../locks.ts'
import { socketPath, type Endpoint } from './endpoint.ts'

/** The role the cluster was made with; the application has one of its own with fewer rights. */
const ADMINISTRATOR = 'postgres'

/** No server listens there, or the one that did has ended. */
const ABSENT = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'CONNECTION_CLOSED', 'CONNECT_TIMEOUT'])
/** A server listens and is not ready: starting, recovering or stopping; or the connection was cut by a shutdown. */
const BUSY = new Set(['57P01', '57P02', '57P03'])

/**
 * One process's share in the running cluster: a connection that holds a shared advisory lock. PostgreSQL itself drops
 * it when the process ends, also when it is killed, so it tells truly which processes are still there.
 */
export interface Lease {
  sql: postgres.Sql
  endpoint: Endpoint
  /** True when no other process has a lease; then none can get one before this one ends. */
  isLast (): Promise<boolean>
  end (): Promise<void>
}

/** @param endpoint of the cluster whose lease broke */
export type OnLost = (endpoint: Endpoint) => void

/**
 * Connects and takes a lease; or says that no server listens, or that the cluster is not ready.
 * @param onLost called once when the connection breaks before `end`
 * @throws the driver's error for anything that waiting does not cure
 */
export async function takeLease (endpoint: Endpoint, onLost: OnLost): Promise<Lease | 'absent' | 'busy'> {
  let held = false
  const sql = connect(endpoint, () => {
    if (!held) return
    held = false
    onLost(endpoint)
  })
  const end = async () => {
    held = false
    await sql.end({ timeout: 1 })
  }
  try {
    await sql`select pg_advisory_lock_shared(${LOCKS.embeddedLease})`
    held = true
    return {
      sql,
      endpoint,
      end,
      isLast: async () => (await sql`select pg_try_advisory_lock(${LOCKS.embeddedLease}) as taken`)[0]?.taken === true
    }
  } catch (err) {
    await sql.end({ timeout: 0 })
    const code = err instanceof Error && 'code' in err ? String(err.code) : ''
    if (ABSENT.has(code)) return 'absent'
    if (BUSY.has(code)) return 'busy'
    throw err
  }
}

/** One connection, kept for good: the driver would otherwise renew it after an hour, and the lock would be gone. */
function connect ({ host, port, password }: Endpoint, onclose: () => void): postgres.Sql {
  return postgres({
    ...(host.startsWith('/') ? { path: socketPath(host, port) } : { host, port, password }),
    user: ADMINISTRATOR,
    database: 'postgres',
    max: 1,
    max_lifetime: null,
    idle_timeout: 0,
    connect_timeout: 10,
    fetch_types: false,
    connection: { application_name: 'locanda: quota' },
    onnotice: () => {},
    onclose
  })
}
