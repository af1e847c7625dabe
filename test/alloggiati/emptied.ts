import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestApp } from '#test/helper.ts'
import type { StandIn } from './stand-in.ts'

/** Tables whose triggers refuse every deletion. */
const GUARDED = [
  'invii', 'invii_schedine', 'invii_tentativi', 'invii_esiti', 'invii_transizioni', 'invii_decisioni', 'invii_conferme',
  'invii_correzioni', 'invii_cancellazioni', 'ricevute', 'ricevute_letture'
]
/** Further tables to truncate. Tables that reference them are truncated too. Users, sessions and the audit log stay. */
const OTHERS = [
  'prenotazioni', 'prenotazioni_per_paese', 'invii_sospensioni', 'invii_conteggi', 'invii_numerazione',
  'account_polizia', 'allarmi', 'sandbox_schedine', 'sandbox_appartamenti', 'idempotency_keys', 'forgotten_answers'
]

/**
 * Resets a shared server and its police stand-in: no bookings, submissions, logs or calls remain. This is much cheaper
 * than a new server for each test.
 */
export async function emptied<S extends Pick<TestApp, 'dataDir' | 'logs'> & { app: Pick<TestApp['app'], 'sql'> }> (
  server: S, police?: StandIn
): Promise<S> {
  const triggers = (word: string) => GUARDED.map((table) => `alter table ${table} ${word} trigger user;`).join('')
  await server.app.sql.unsafe(`${triggers('disable')}
    truncate ${[...GUARDED, ...OTHERS].join()} restart identity cascade;
    ${triggers('enable')}`)
  // After the chain is emptied, a recorded chain head would look like a truncation.
  rmSync(join(server.dataDir, 'ledger-chain.json'), { recursive: true, force: true })
  server.logs.length = 0
  police?.forget()
  return server
}
