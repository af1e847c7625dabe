import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { Gauge, Histogram, Registry } from 'prom-client'

/** A number that is read when a client asks for the metrics, or one for each value of a label. */
export interface GaugeSource {
  /** After the prefix `locanda_`. */
  name: string
  help: string
  label?: string
  read (): Promise<number | Readonly<Record<string, number>>>
}

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Adds a gauge to `/metrics`. What cannot be read is logged and left out (`NaN`): the rest is shown all the same.
     */
    addGauge (source: GaugeSource): void
  }
}

const PREFIX = 'locanda_'
/** Seconds: from a cached answer to the longest wait for the police. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** Where no route of ours answered; never the address that was asked for. */
const NO_ROUTE = 'unknown'

const TEXT = Type.String({
  examples: [
    '# HELP locanda_submissions Submissions by state.\n# TYPE locanda_submissions gauge\n' +
      'locanda_submissions{state="acquisito"} 12\n'
  ]
})

interface MetricsOptions {
  /** Resident memory of the process, bytes. Without it there is no gauge of it. */
  residentMemory?: (() => number) | undefined
}

/** Prometheus metrics at `/metrics`: the process, the durations of requests, and what the areas add. */
export default fp<MetricsOptions>(async function metrics (app, { residentMemory }) {
  const registry = new Registry()
  const durations = new Histogram({
    name: `${PREFIX}http_request_duration_seconds`,
    help: 'Duration of HTTP requests by the pattern of their route.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers: [registry]
  })

  app.addHook('onResponse', function observe (request, reply, done) {
    durations.observe(
      { method: request.method, route: request.routeOptions.url ?? NO_ROUTE, status: reply.statusCode },
      reply.elapsedTime / 1000
    )
    done()
  })

  app.decorate('addGauge', function addGauge ({ name, help, label, read }) {
    const labelNames = label === undefined ? [] : [label]
    registry.registerMetric(new Gauge({
      name: PREFIX + name,
      help,
      labelNames,
      registers: [],
      async collect () {
        this.reset()
        try {
          const values = await read()
          if (typeof values === 'number') this.set(values)
          else for (const [value, count] of Object.entries(values)) this.set({ [labelNames[0]!]: value }, count)
        } catch (err) {
          app.log.error({ err, metric: name }, 'metric unreadable')
          if (label === undefined) this.set(NaN)
        }
      }
    }))
  })

  // Of the library's default metrics only this one: its observers of garbage collection and event loop slowed a small
  // GET down by a quarter.
  if (residentMemory !== undefined) {
    app.addGauge({
      name: 'process_resident_memory_bytes',
      help: 'Resident memory of the process.',
      read: async () => residentMemory()
    })
  }

  app.route({
    method: 'GET',
    url: '/metrics',
    config: { access: 'auth' },
    schema: {
      operationId: 'getMetrics',
      tags: ['Sistema'],
      summary: 'Le misure del servizio, nel formato di Prometheus',
      response: { 200: { description: 'Testo nel formato di Prometheus', content: { 'text/plain': { schema: TEXT } } } }
    },
    handler: async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics())
  })
}, { name: 'metrics' })
