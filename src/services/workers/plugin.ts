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
    /** Of one thread, for tasks that take much memory beside JavaScript, which no limit holds. */
    imageWorkers: Workers
  }
}

/** Heavy work off the event loop: PDFs and texts, beside them images. A full queue is a 503, never a stalled server. */
export default fp(async function workers (app) {
  const threads = Math.max(1, Math.min(THREADS_MAX, availableParallelism() - 1))
  const limits = { turns: TURNS, memoryMb: MEMORY_MB, idleMs: IDLE_MS }
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
