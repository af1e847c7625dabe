import postgres from 'postgres'
import { createSockets, type Sockets } from './sockets.ts'

/** Settings of every database session. */
const OWN_SESSION = {
  statement_timeout: 30_000,
  // If a process is paused inside a transaction, PostgreSQL rolls the transaction back before others time out. A
  // single statement is not covered between its result and its commit.
  idle_in_transaction_session_timeout: 20_000,
  // Detects a dead peer within a minute. Values in seconds. Ignored for Unix sockets.
  tcp_keepalives_idle: 30,
  tcp_keepalives_interval: 10,
  tcp_keepalives_count: 3
}

/** Session settings sent in the startup message, so that no statement or log contains them. */
export type SessionSettings = Readonly<Record<string, string>>

/**
 * Opens a pool of at most `max` connections. The first query connects.
 * @param sockets shared with other pools, so that all can be closed together
 * @param login replaces the user of the URL
 */
export function openClient (
  url: string,
  max: number,
  settings: SessionSettings = {},
  sockets: Sockets = createSockets(),
  login: { user?: string, pass?: string } = {}
): postgres.Sql {
  return postgres(url, {
    ...login,
    max,
    // Saves one query per connection, for the array types. So arrays are passed as text (`'{1,2}'::int[]`). This also
    // keeps `sql.reserve()` from waiting forever (porsager/postgres#751).
    fetch_types: false,
    idle_timeout: 300,
    connect_timeout: 10,
    // Seconds between connection attempts. The driver's own back-off grows to twenty, which delays recovery. While
    // sockets are cut, attempts and their queries fail at once.
    backoff: () => sockets.areCut ? 0.01 : 0.25,
    onnotice: () => {},
    connection: { application_name: 'locanda', TimeZone: 'UTC', ...OWN_SESSION, ...settings },
    // The types of the driver lack these options.
    ...{
      // One query per connection at a time, so that an error or cancellation affects no other query.
      max_pipeline: 0,
      socket: sockets.open,
      ...wantsPrimary(url) && { target_session_attrs: 'primary' }
    }
  })
}

/**
 * Whether to connect only to the primary. True for several hosts, unless the URL asks for a standby or a read-only
 * server. It replaces `read-write`, with which the driver (postgres 3.4.9) also accepts a standby of PostgreSQL 14 and
 * later.
 */
function wantsPrimary (url: string): boolean {
  return /^\w+:\/\/[^/?]*,/.test(url) && !/[?&]target_session_attrs=(?:standby|prefer-standby|read-only)\b/.test(url)
}
