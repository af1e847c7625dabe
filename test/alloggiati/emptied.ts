import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestApp } from '#test/helper.ts'
import type { StandIn } from './stand-in.ts'

/** Their triggers let nothing be removed. */
const GUARDED = [
  'invii', 'invii_schedine', 'invii_tentativi', 'invii_esiti', 'invii_transizioni', 'invii_decisioni', 'invii_conferme',
  'invii_correzioni', 'invii_cancellazioni', 'ricevute', 'ricevute_letture'
]
/** What hangs on these goes with them. Persons, their sessions and the audit log stay. */
const OTHERS = [
  'prenotazioni', 'prenotazioni_per_paese', 'invii_sospensioni', 'invii_conteggi', 'invii_numerazione',
  'account_polizia', 'allarmi', 'sandbox_schedine', 'sandbox_appartamenti', 'idempotency_keys', 'forgotten_answers'
]

/**
 * A server without a booking, a submission or a line in its log, as a new one would be, and its police without a call:
 * each test of a file finds the one server of all as if it had it for itself, at a small part of what a new one costs.
 */
export async function emptied<S extends Pick<TestApp, 'dataDir' | 'logs'> & { app: Pick<TestApp['app'], 'sql'> }> (
  server: S, police?: StandIn
): Promise<S> {
  const triggers = (word: string) => GUARDED.map((table) => `alter table ${table} ${word} trigger user;`).join('')
  await server.app.sql.unsafe(`${triggers('disable')}
    truncate ${[...GUARDED, ...OTHERS].join()} restart identity cascade;
    ${triggers('enable')}`)
  // An empty chain has no end that somebody could have cut off.
  rmSync(join(server.dataDir, 'ledger-chain.json'), { recursive: true, force: true })
  server.logs.length = 0
  police?.forget()
  return server
}
