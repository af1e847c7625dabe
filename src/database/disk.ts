import fp from 'fastify-plugin'
import type postgres from 'postgres'
import type { Config } from '#src/config/config.ts'
import { isOutOfSpace } from '#src/lib/disk-space.ts'
import { SpazioEsaurito } from '#src/lib/errors.ts'
import { databaseProblem, isDiskFull } from './problems.ts'

const { code: CODE } = new SpazioEsaurito()

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether the disk of `DATA_DIR` or of the database is full. After a full disk, tries a write through `sql`. */
    isDiskFull (sql: postgres.Sql): Promise<boolean>
    /** Whether an error comes from a full disk, which the log already reports once for all requests and jobs. */
    isDiskFullReported (err: unknown): boolean
  }
}

/**
 * Detects a full disk by checks of `DATA_DIR`, and by failures of requests and jobs. Logs one line when the disk
 * becomes full, and one when it has space again.
 */
export default fp<{ config: Config }>(async function disk (app, { config }) {
  let isFull = false

  function note (full: boolean): boolean {
    if (full && !isFull) app.log.error('the disk is full: nothing can be written')
    if (!full && isFull) app.log.warn('the disk has free space again')
    isFull = full
    return full
  }

  app.addHook('onResponse', function noteFailure (request, _reply, done) {
    if (request.errorCode === CODE) note(true)
    done()
  })

  app.decorate('isDiskFullReported', (err) => {
    if (isDiskFull(err)) return note(true)
    // PostgreSQL shuts down when it cannot write its WAL, so the database is unavailable too.
    return isFull && databaseProblem(err) !== undefined
  })

  app.decorate('isDiskFull', async (sql) => {
    if (await isOutOfSpace(config.DATA_DIR)) return note(true)
    return isFull && note(!await sql.begin(async (tx) => {
      await tx`create temporary table room on commit drop as
        select repeat(md5(n::text), 30) as filler from generate_series(1, 1000) n`
      return true
    }).catch(() => false))
  })
}, { name: 'disk', dependencies: ['errors'] })
