import { availableParallelism } from 'node:os'
import fp from 'fastify-plugin'
import { workerPool, type Workers } from './pool.ts'

/** Maximum concurrent PDFs. With several processors, one stays free for the event loop. */
const PDF_THREADS_MAX = 2
/** Maximum concurrent copies of JPEGs, which need little native memory. */
const COPY_THREADS_MAX = 2
/** Maximum waiting tasks of one pool. */
const WAITING = 32
/** Maximum wait in one pool. With the longest task it is shorter than the usual timeout of a proxy (two minutes). */
const WAIT_MS = 60_000
const MEMORY_MB = 256
const IDLE_MS = 30_000

declare module 'fastify' {
  interface FastifyInstance {
    pdfWorkers: Workers
    /** A single thread, for tasks that use native memory, which no limit covers. */
    imageWorkers: Workers
    /** Checks JPEGs, and removes metadata of those that need no re-encoding. */
    copyWorkers: Workers
    /** Searches decoded images for a machine-readable zone. */
    zoneWorkers: Workers
  }
}

/** Runs CPU-intensive tasks outside the event loop. Each kind has its own pool. */
export default fp(async function workers (app) {
  const limits = { waiting: WAITING, waitMs: WAIT_MS, memoryMb: MEMORY_MB, idleMs: IDLE_MS }
  const pools = {
    pdfWorkers: workerPool({ threads: Math.max(1, Math.min(PDF_THREADS_MAX, availableParallelism() - 1)), ...limits }),
    imageWorkers: workerPool({ threads: 1, ...limits }),
    copyWorkers: workerPool({ threads: Math.min(COPY_THREADS_MAX, availableParallelism()), ...limits }),
    zoneWorkers: workerPool({ threads: 1, ...limits })
  }
  app.decorate('pdfWorkers', { run: pools.pdfWorkers.run })
  app.decorate('imageWorkers', { run: pools.imageWorkers.run })
  app.decorate('copyWorkers', { run: pools.copyWorkers.run })
  app.decorate('zoneWorkers', { run: pools.zoneWorkers.run })
  app.addGauge({
    name: 'worker_tasks',
    help: 'Heavy work of this process, by state.',
    label: 'state',
    async read () {
      const counts = Object.values(pools).map((pool) => pool.count())
      const sum = (state: 'running' | 'waiting') => counts.reduce((total, count) => total + count[state], 0)
      return { running: sum('running'), waiting: sum('waiting') }
    }
  })
  app.addHook('onClose', () => Promise.all(Object.values(pools).map((pool) => pool.close())))
}, { name: 'workers', dependencies: ['metrics'] })
