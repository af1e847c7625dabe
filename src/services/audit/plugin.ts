import { join } from 'node:path'
import fp from 'fastify-plugin'
import { audit_log } from '#drizzle/tables/audit.ts'
import type { Config } from '#src/config/config.ts'
import { chainHead } from '#src/database/chain-head.ts'
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
 * The audit log. Its last link is noted in `DATA_DIR/audit-chain.json` every minute, when the server closes and after a
 * verification. When the log has lost that link, the note stays, and the log is not intact until an operator who knows
 * the reason deletes the file.
 */
export default fp<{ config: Config }>(async function audit (app, { config }) {
  const { db, log } = app
  const head = chainHead(join(config.DATA_DIR, 'audit-chain.json'), audit_log)
  let alarmed = false

  app.decorate('audit', {
    ...auditLog(log),
    async verify () {
      const found = await verifyChain(db, await head.last())
      if (found.integro) await head.update(db)
      return found
    }
  })

  app.addJob({
    name: 'audit-head',
    description: 'Annota in DATA_DIR la fine del registro delle azioni',
    cron: '* * * * *',
    // The file is in the folder of this process.
    everyProcess: true,
    atStart: true,
    run: noteEnd
  })
  // After the last request, before the database closes.
  app.addHook('onClose', () =>
    noteEnd().catch((err: unknown) => log.error({ err }, 'the end of the audit log could not be noted'))
  )

  async function noteEnd (): Promise<void> {
    const isWhole = await head.isIn(db)
    if (isWhole) await head.update(db)
    else if (!alarmed) log.error('the audit log has lost its end: see GET /api/v1/audit/verifica')
    alarmed = !isWhole
  }
}, { name: 'audit', dependencies: ['database', 'jobs'] })
