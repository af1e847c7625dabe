import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import type postgres from 'postgres'
import { openClient, type SessionSettings } from './client.ts'
import { createSockets, type Sockets } from './sockets.ts'

/** The database for repositories. A repository takes an `Executor`, so that it can run inside a transaction. */
export type Database = PostgresJsDatabase & { $client: postgres.Sql }
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]
export type Executor = Database | Transaction

export interface Connection {
  db: Database
  /** The driver's client, for streaming and advisory locks. */
  sql: postgres.Sql
  close (): Promise<void>
}

/** Opens a pool (`openClient`) with Drizzle. */
export function connect (
  url: string,
  max: number,
  settings: SessionSettings = {},
  sockets: Sockets = createSockets()
): Connection {
  const sql = openClient(url, max, settings, sockets)
  return { sql, db: drizzle(sql), close: () => sql.end({ timeout: sockets.areCut ? 0 : 5 }) }
}
