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
      /** Verifies the whole log. If it is intact, later verifications require at least its last row. */
      verify (): Promise<Verification>
    }
  }
}

/**
 * The audit log. Its last row is noted in `DATA_DIR/audit-chain.json` every minute, at shutdown and after a
 * verification. If the log has lost the noted row, the note is not replaced. Then the log counts as tampered with until
 * an operator deletes the file.
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
    // Every process notes the row, because `DATA_DIR` may differ between processes.
    everyProcess: true,
    atStart: true,
    run: noteEnd
  })
  // Runs after the last request and before the database closes.
  app.addHook('onClose', () =>
    noteEnd().catch((err: unknown) => log.error({ err }, 'the chain head of the audit log could not be noted'))
  )

  async function noteEnd (): Promise<void> {
    const isWhole = await head.isIn(db)
    if (isWhole) await head.update(db)
    else if (!alarmed) log.error('the audit log has lost its last rows: see GET /api/v1/audit/verifica')
    alarmed = !isWhole
  }
}, { name: 'audit', dependencies: ['database', 'jobs'] })
