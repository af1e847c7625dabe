import { availableParallelism } from 'node:os'
import fp from 'fastify-plugin'
import { workerPool, type Workers } from './pool.ts'

/** Concurrent tasks. On several processors one is left to the event loop. */
const THREADS_MAX = 2
/** Running and queued tasks, in total and per caller. */
const CONCURRENCY = { total: 32, perCaller: 16 }
const MEMORY_MB = 256
const IDLE_MS = 30_000

declare module 'fastify' {
  interface FastifyInstance {
    workers: Workers
    /** A single thread, for tasks whose native memory no limit covers. */
    imageWorkers: Workers
  }
}

/** CPU-heavy tasks run off the event loop: PDFs, OCR, and images in their own pool. A full queue is a 503. */
export default fp(async function workers (app) {
  const threads = Math.max(1, Math.min(THREADS_MAX, availableParallelism() - 1))
  const limits = { turns: CONCURRENCY, memoryMb: MEMORY_MB, idleMs: IDLE_MS }
  const [pool, imagePool] = [workerPool({ threads, ...limits }), workerPool({ threads: 1, ...limits })]
  app.decorate('workers', { run: pool.run })
  app.decorate('imageWorkers', { run: imagePool.run })
  app.addGauge({
    name: 'worker_tasks',
    help: 'Heavy work of this process, by state.',
    label: 'state',
    async read () {
      const [tasks, images] = [pool.count(), imagePool.count()]
      return { running: tasks.running + images.running, waiting: tasks.waiting + images.waiting }
    }
  })
  app.addHook('onClose', () => Promise.all([pool.close(), imagePool.close()]))
}, { name: 'workers', dependencies: ['metrics'] })
