import { Type } from '@sinclair/typebox'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { GIT_HEAD, VERSION } from '#src/lib/version.ts'
import { waitAtMost } from '#src/lib/wait-at-most.ts'
import { CLIENT_DISCONNECTED } from './client-disconnects.ts'

/** A gauge that is read on each scrape. It has one value, or one for each value of a label. */
interface GaugeSource {
  /** The name without the prefix `locanda_`. */
  name: string
  help: string
  label?: string
  read (): Promise<number | Readonly<Record<string, number>>>
}

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Adds a gauge to `/metrics`. If reading it fails or takes more than three seconds, the error is logged and the
     * gauge is `NaN`, or has no value if it has a label. The other metrics are still sent.
     */
    addGauge (source: GaugeSource): void
  }
}

const PREFIX = 'locanda_'
/** Upper bounds of the buckets in seconds, from a cached response to the longest wait for the police service. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** Label for requests without a route, so that a requested URL never becomes a label. */
const NO_ROUTE = 'unknown'

const TEXT = Type.String({
  examples: [
    '# HELP locanda_submissions Submissions by state.\n# TYPE locanda_submissions gauge\n' +
      'locanda_submissions{state="acquisito"} 12\n'
  ]
})

/** Resource usage of the process. */
export interface ProcessFigures {
  residentBytes: number
  /** Processor seconds since the start. */
  cpuSeconds: number
  /** Seconds since 1970. */
  startedAt: number
  /** Open file descriptors. Undefined when the system does not report them. */
  descriptors?: number | undefined
}

interface MetricsOptions {
  /** Returns the resource usage on each scrape. Without it the process metrics are missing. */
  processFigures?: (() => ProcessFigures) | undefined
}

type ProcessMetric = readonly [name: string, help: string, read: (figures: ProcessFigures) => number | undefined]

/** Names and help texts as in Prometheus' own client libraries. */
const PROCESS: readonly ProcessMetric[] = [
  ['process_resident_memory_bytes', 'Resident memory of the process.', ({ residentBytes }) => residentBytes],
  ['process_cpu_seconds_total', 'Processor time that the process has taken.', ({ cpuSeconds }) => cpuSeconds],
  ['process_start_time_seconds', 'When the process started, since 1970.', ({ startedAt }) => startedAt],
  ['process_open_fds', 'Open file descriptors.', ({ descriptors }) => descriptors]
]

/** Prometheus usually times out after 10 s. Without this limit one slow gauge would make the whole scrape fail. */
const READ_WITHIN_MS = 3000

async function inTime<T> (reading: Promise<T>): Promise<T> {
  let read: { value: T } | undefined
  await waitAtMost(READ_WITHIN_MS, reading.then((value) => { read = { value } }))
  if (read === undefined) throw new Error(`no value within ${READ_WITHIN_MS} ms`)
  return read.value
}

/** Prometheus metrics at `/metrics`: the process, request durations, and the gauges of the areas. */
export default fp<MetricsOptions>(async function metrics (app, { processFigures }) {
  const registry = new Registry()
  const durations = new Histogram({
    name: `${PREFIX}http_request_duration_seconds`,
    help: 'Duration of HTTP requests by the pattern of their route.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers: [registry]
  })

  function observe (request: FastifyRequest, reply: FastifyReply, status: number): void {
    durations.observe(
      { method: request.method, route: request.routeOptions.url ?? NO_ROUTE, status },
      reply.elapsedTime / 1000
    )
  }

  app.addHook('onResponse', function observeResponse (request, reply, done) {
    observe(request, reply, reply.statusCode)
    done()
  })
  app.onClientDisconnect((request, reply) => observe(request, reply, CLIENT_DISCONNECTED))

  app.decorate('addGauge', (source) => registry.registerMetric(gaugeOf(source, app.log)))

  // Read on each scrape. prom-client's default collector also observes garbage collection and the event loop, which
  // slowed a small GET by a quarter.
  for (const [name, help, figure] of processFigures === undefined ? [] : PROCESS) {
    const Metric = name.endsWith('_total') ? Counter : Gauge
    registry.registerMetric(new Metric({
      name,
      help,
      registers: [],
      collect () {
        const value = figure(processFigures!())
        if (value === undefined) return
        this.reset()
        this.inc(value)
      }
    }))
  }
  new Gauge({
    name: `${PREFIX}build_info`,
    help: 'The version that runs.',
    labelNames: ['version', 'commit'],
    registers: [registry]
  }).set({ version: VERSION, commit: GIT_HEAD ?? '' }, 1)
  addOwnGauges(app)

  app.route({
    method: 'GET',
    url: '/metrics',
    config: { access: 'auth', bearerKey: true },
    schema: {
      operationId: 'getMetrics',
      tags: ['Sistema'],
      summary: 'Le misure del servizio, nel formato di Prometheus',
      response: { 200: { description: 'Testo nel formato di Prometheus', content: { 'text/plain': { schema: TEXT } } } }
    },
    handler: async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics())
  })
}, { name: 'metrics', dependencies: ['client-disconnects'] })

/** Creates an area's gauge. While a reading is pending, the next scrape waits for that reading. */
function gaugeOf ({ name, help, label, read }: GaugeSource, log: FastifyBaseLogger): Gauge {
  const labelNames = label === undefined ? [] : [label]
  let pending: ReturnType<typeof read> | undefined
  return new Gauge({
    name: PREFIX + name,
    help,
    labelNames,
    registers: [],
    async collect () {
      this.reset()
      try {
        pending ??= read().finally(() => { pending = undefined })
        const values = await inTime(pending)
        if (typeof values === 'number') this.set(values)
        else for (const [value, count] of Object.entries(values)) this.set({ [labelNames[0]!]: value }, count)
      } catch (err) {
        log.error({ err, metric: name }, 'a metric could not be read')
        if (label === undefined) this.set(NaN)
      }
    }
  })
}

/** Gauges of the event loop and the database connections. */
function addOwnGauges (app: FastifyInstance): void {
  if (app.hasDecorator('eventLoopDelay')) {
    app.addGauge({
      name: 'event_loop_delay_seconds',
      help: 'How late the event loop was when it was last measured; beyond a bound requests are refused.',
      read: async () => app.eventLoopDelay()
    })
  }
  if (app.hasDecorator('sql')) {
    app.addGauge({
      name: 'database_connections',
      help: 'Connections of Locanda to the database, of all processes, by state.',
      label: 'state',
      read: async () => {
        const found = await app.sql<{ state: string, count: number }[]>`
          select coalesce(state, 'unknown') as state, count(*)::int as count from pg_stat_activity
          where datname = current_database() and usename = current_user group by 1`
        return { active: 0, idle: 0, ...Object.fromEntries(found.map(({ state, count }) => [state, count])) }
      }
    })
  }
}
