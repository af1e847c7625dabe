import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import { establishmentRoutes } from './establishment-routes.ts'
import { establishments } from './establishment.ts'
import { letterHolding } from './holding.ts'
import { letterRoutes } from './letter-routes.ts'
import { logoRoutes } from './logo-routes.ts'
import { lockLetters } from './repository.ts'

interface LettersOptions { config: Config, keys: Keys, clock: Clock }

/** Welcome letters, one a booking, and what the house says of itself in them. A letter goes with its booking. */
const letters: FastifyPluginAsyncTypebox<LettersOptions> = async (app, { config, keys, clock }) => {
  const { pdf, storage } = app

  app.addHolding(letterHolding(storage))
  app.addBookingHook('beforeDelete', async (tx, ids) => {
    await pdf.remove(tx, (await lockLetters(tx, ids)).map((letter) => letter.pdf))
  })

  const parts = { config, clock, establishments: establishments(keys) }
  await app.register(letterRoutes, parts)
  await app.register(establishmentRoutes, parts)
  await app.register(logoRoutes, parts)
}
export default letters
