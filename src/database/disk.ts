import { statfs } from 'node:fs/promises'
import fp from 'fastify-plugin'
import type postgres from 'postgres'
import type { Config } from '#src/config/config.ts'
import { SpazioEsaurito } from '#src/lib/errors.ts'
import { databaseProblem, isDiskFull } from './problems.ts'

/** Bytes. With less in `DATA_DIR` nothing of ours can be relied on to be written. */
const ROOM = 1024 * 1024

const { code: CODE } = new SpazioEsaurito()

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether the disk of `DATA_DIR`, or of the database, has no room, as far as it is known; asked through `sql`. */
    isDiskFull (sql: postgres.Sql): Promise<boolean>
    /** Whether work has failed for want of room: then the log says so already, once for all work. */
    isToldOfDisk (err: unknown): boolean
  }
}

/**
 * Knows when a disk is full: by looking at that of `DATA_DIR`, and by what requests and jobs have met. One line in the
 * log says that it is full, and one that there is room again.
 */
export default fp<{ config: Config }>(async function disk (app, { config }) {
  let isFull = false

  function note (full: boolean): boolean {
    if (full && !isFull) app.log.error('the disk is full: nothing can be written')
    if (!full && isFull) app.log.warn('the disk has room again')
    isFull = full
    return full
  }

  app.addHook('onResponse', function noteFailure (request, _reply, done) {
    if (request.errorCode === CODE) note(true)
    done()
  })

  app.decorate('isToldOfDisk', (err) => {
    if (isDiskFull(err)) return note(true)
    // PostgreSQL ends where it cannot write its log.
    return isFull && databaseProblem(err) !== undefined
  })

  app.decorate('isDiskFull', async (sql) => {
    // Where the folder is not there yet, nothing is kept in it.
    const found = await statfs(config.DATA_DIR).catch(() => undefined)
    if (found && found.bavail * found.bsize < ROOM) return note(true)
    return isFull && note(!await sql.begin(async (tx) => {
      await tx`create temporary table room on commit drop as
        select repeat(md5(n::text), 30) as filler from generate_series(1, 1000) n`
      return true
    }).catch(() => false))
  })
}, { name: 'disk', dependencies: ['errors'] })
