import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import webhooks, { type WebhookTimes } from './webhooks/plugin.ts'
import { eventFeed, forgetOldEvents, orderEvents } from './feed.ts'
import eventRoutes, { type StreamTimes } from './routes.ts'

export type EventTimes = Partial<WebhookTimes> & StreamTimes

interface EventsOptions {
  config: Config
  keys: Keys
  /** For tests. */
  times?: EventTimes | undefined
}

/**
 * What happened: triggers of the database write it down with the change itself. It is read in pages, followed as a
 * stream, and delivered to webhooks.
 */
const events: FastifyPluginAsyncTypebox<EventsOptions> = async (app, { config, keys, times = {} }) => {
  const { db, changes, log } = app
  const { heartbeatMs, lookMs, stalledReaderMs, ...webhookTimes } = times
  const feed = eventFeed({ db, changes, log, isTold: app.isToldOfDisk, lookMs })
  app.addHook('preClose', () => feed.close())
  app.addJob({
    name: 'old-events',
    description: 'Elimina gli eventi di più di 30 giorni fa, con le loro consegne; non quelli ancora da consegnare',
    cron: '23 * * * *',
    run: async () => {
      // Where nobody reads them, they would wait for their places for ever.
      await orderEvents(db)
      await forgetOldEvents(db)
    }
  })
  await app.register(eventRoutes, { feed, heartbeatMs, stalledReaderMs })
  await app.register(webhooks, { feed, config, keys, times: webhookTimes })
}
export default events
