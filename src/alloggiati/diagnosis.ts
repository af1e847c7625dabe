import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { createClock } from '#src/lib/time.ts'
import type { Database } from '#src/database/connect.ts'
import { check } from './service/check.ts'
import { policeService } from './service/police-service.ts'

/**
 * Asks the police service of the settings whether it takes the credentials: nothing is sent, and nobody's data.
 * @returns where it was asked
 * @throws ConnessioneFallita
 */
export async function checkPolice (
  parts: { config: Config, keys: Keys, db: Database, log: FastifyBaseLogger }
): Promise<string> {
  const { service, close } = await policeService({ ...parts, clock: createClock(parts.config.TODAY) })
  try {
    return (await check(service)).endpoint
  } finally {
    await close()
  }
}
