import { availableParallelism } from 'node:os'
import fp from 'fastify-plugin'
import { workerPool, type Workers } from './pool.ts'

/** Tasks at a time: they leave a processor to the event loop where there are several. */
const THREADS_MAX = 2
/** Tasks that run or wait, of all callers and of one. */
const TURNS = { total: 32, perCaller: 16 }
const MEMORY_MB = 256
const IDLE_MS = 30_000

declare module 'fastify' {
  interface FastifyInstance {
    workers: Workers
  }
}

/** Heavy work off the event loop: images, later PDFs and texts. A full queue is a 503, never a stalled server. */
export default fp(async function workers (app) {
  const threads = Math.max(1, Math.min(THREADS_MAX, availableParallelism() - 1))
  const pool = workerPool({ threads, turns: TURNS, memoryMb: MEMORY_MB, idleMs: IDLE_MS })
  app.decorate('workers', { run: pool.run })
  app.addGauge({
    name: 'worker_tasks',
    help: 'Heavy work of this process, by state.',
    label: 'state',
    read: async () => pool.count()
  })
  app.addHook('onClose', () => pool.close())
}, { name: 'workers', dependencies: ['metrics'] })
