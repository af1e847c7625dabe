import postgres from 'postgres'
import { createSockets, type Sockets } from './sockets.ts'

/** A pooler of transactions knows only the settings that it hands on: these are not among them. */
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
 * @param isShared a pooler stands between, which gives each transaction another session: no settings hold there, and no
 * statements are prepared
 */
export function openClient (
  url: string,
  max: number,
  settings: SessionSettings = {},
  sockets: Sockets = createSockets(),
  isShared = false
): postgres.Sql {
  return postgres(url, {
    max,
    prepare: !isShared,
    idle_timeout: 300,
    connect_timeout: 10,
    // Seconds between two attempts: the driver's own pauses grow to twenty, which a database that has just come back
    // need not wait for. Where connections fail at once, so do those who wait for one.
    backoff: () => sockets.areCut ? 0.01 : 0.25,
    onnotice: () => {},
    connection: { application_name: 'locanda', TimeZone: 'UTC', ...isShared ? {} : { ...OWN_SESSION, ...settings } },
    // The driver's types do not have them.
    ...{
      // PgBouncer (1.18) loses the answer to a query that another one was sent before, if it does not end in a Sync:
      // the first part of one with parameters, or a write.
      ...isShared && { max_pipeline: 0 },
      socket: sockets.open,
      answer_timeout: () => sockets.answerWithin ?? 0,
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
