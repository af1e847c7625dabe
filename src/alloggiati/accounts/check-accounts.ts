import type { FastifyBaseLogger } from 'fastify'
import { FIRST_ESTABLISHMENT } from '#src/bookings/index.ts'
import type { Config } from '#src/config/config.ts'
import type { Database } from '#src/database/connect.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { createClock } from '#src/lib/time.ts'
import { checkConnection } from '../service/check-connection.ts'
import { policeServices } from '../service/police-service.ts'
import { credentialsOf, readAccountRows } from './account-rows.ts'

/** A tested account of the environment or an establishment. `error` is null if the login succeeded. */
interface CheckedAccount { establishment: number | null, error: unknown }

/**
 * Tests the login of every account in use in production. Returns one error if there is no account. Sends no guest data.
 * @returns the accounts, and the host of the service
 */
export async function checkAccounts (
  { config, keys, db, log }: { config: Config, keys: Keys, db: Database, log: FastifyBaseLogger }
): Promise<{ accounts: CheckedAccount[], host: string | undefined }> {
  const services = await policeServices({ config, keys, db, log, clock: createClock(config.TODAY) })
  const accounts: CheckedAccount[] = []
  let host: string | undefined
  const test = async (establishment: number | null, service: Parameters<typeof checkConnection>[0]) => {
    try {
      host = new URL((await checkConnection(service)).endpoint).host
      accounts.push({ establishment, error: null })
    } catch (error) {
      accounts.push({ establishment, error })
    }
  }
  try {
    if (services.own) await test(null, services.own.service)
    for (const row of await readAccountRows(db, config.ALLOGGIATI_MODE)) {
      // The environment's account replaces the account of the first establishment.
      if (services.own && row.struttura_id === FIRST_ESTABLISHMENT) continue
      const credentials = credentialsOf(keys, row)
      if (credentials) await test(row.struttura_id, services.of(credentials))
    }
    if (accounts.length === 0) await test(null, null)
    return { accounts, host }
  } finally {
    await services.close()
  }
}
