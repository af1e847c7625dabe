import { join } from 'node:path'
import fp from 'fastify-plugin'
import { audit_log } from '#drizzle/tables/audit.ts'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { chainHead } from '../database/chain-head.ts'
import { auditLog, type Audit } from './log.ts'
import { verifyChain, type Verification } from './verify.ts'

declare module 'fastify' {
  interface FastifyInstance {
    audit: Audit & {
      /** Walks through the whole log. What it finds intact is from then on the least that there must be. */
      verify (): Promise<Verification>
    }
  }
}

/**
 * The audit log. Its end is noted in `DATA_DIR/audit.head` every minute, when the server closes and after a
 * verification. A log that has lost what is noted keeps the note, and is not intact until somebody who knows why takes
 * the file away.
 */
export default fp<{ config: Config, keys: Keys }>(async function audit (app, { config, keys }) {
  const { db, log } = app
  const file = join(config.DATA_DIR, 'audit.head')
  let alarmed = false

  // Read anew every time: another process may have come further.
  const noted = () => chainHead(file, audit_log)

  app.decorate('audit', {
    ...auditLog(keys, log),
    async verify () {
      const head = noted()
      const found = await verifyChain(db, keys, await head.noted())
      if (found.integro) await head.advance(db)
      return found
    }
  })

  app.addJob({ name: 'audit-head', cron: '* * * * *', atStart: true, run: noteEnd })
  // After the last request, before the database closes.
  app.addHook('onClose', () =>
    noteEnd().catch((err: unknown) => log.error({ err }, 'the end of the audit log could not be noted'))
  )

  async function noteEnd (): Promise<void> {
    const head = noted()
    const holds = await head.holds(db)
    if (holds) await head.advance(db)
    else if (!alarmed) log.error('the audit log has lost its end: see GET /api/v1/audit/verifica')
    alarmed = !holds
  }
}, { name: 'audit', dependencies: ['database', 'jobs'] })
