import postgres from 'postgres'
import { createSockets, type Sockets } from './sockets.ts'

/** Settings of every session. */
const OWN_SESSION = {
  statement_timeout: 30_000,
  // A process that is frozen in the middle of a transaction loses it, and its locks, before those who wait for them
  // give up. (Not a single statement's, in the moment between its result and what commits it.)
  idle_in_transaction_session_timeout: 20_000,
  // One whose machine is gone, within a minute. In seconds; without meaning for a Unix socket.
  tcp_keepalives_idle: 30,
  tcp_keepalives_interval: 10,
  tcp_keepalives_count: 3
}

/** Settings of a session, given at the connection: they are part of no statement, and no log holds them. */
export type SessionSettings = Readonly<Record<string, string>>

/**
 * Opens a pool of at most `max` connections; nothing is sent before the first query.
 * @param sockets with those of other pools, so that they can be cut together
 * @param login in place of the user of the URL
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
    // Each new connection would ask for all types of arrays. Without them a parameter is no array, `'{1,2}'::int[]` is,
    // and `sql.reserve()` may wait without end (porsager/postgres#751).
    fetch_types: false,
    idle_timeout: 300,
    connect_timeout: 10,
    // Seconds between two attempts: the driver's own pauses grow to twenty, which a database that has just come back
    // need not wait for. Where connections fail at once, so do those who wait for one.
    backoff: () => sockets.areCut ? 0.01 : 0.25,
    onnotice: () => {},
    connection: { application_name: 'locanda', TimeZone: 'UTC', ...OWN_SESSION, ...settings },
    // The driver's types do not have them.
    ...{
      // One query at a time on a connection, so that an error or a cancelled query concerns no other query.
      max_pipeline: 0,
      socket: sockets.open,
      ...wantsPrimary(url) && { target_session_attrs: 'primary' }
    }
  })
}

/**
 * Of several hosts the primary is meant, unless the URL says otherwise. What libpq calls `read-write` the driver
 * (postgres 3.4.9) does not tell from a standby of PostgreSQL 14 and later.
 */
function wantsPrimary (url: string): boolean {
  return /^\w+:\/\/[^/?]*,/.test(url) && !/[?&]target_session_attrs=(?:standby|prefer-standby|read-only)\b/.test(url)
}
