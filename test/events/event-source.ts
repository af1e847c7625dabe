import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { Event } from '#schemas/event.ts'
import { connect } from '#src/database/connect.ts'
import { until } from '#test/alloggiati/stand-in.ts'

/** A stream as the client sees it. */
export interface EventSource {
  status: number
  headers: IncomingMessage['headers']
  /** The text received so far. */
  text (): string
  events (): Event[]
  /** Waits until the stream contains this text. */
  hears (text: string): Promise<void>
  /** Waits for this many events. */
  await (count: number): Promise<Event[]>
  /** Resolves when the server has ended the stream. */
  ended: Promise<unknown>
  close (): void
}

export async function listen (app: FastifyInstance): Promise<string> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

/** Opens a stream of events. */
export async function openStream (
  t: Pick<Test, 'teardown'>, address: string, headers: Record<string, string>, query = '', path = '/api/v1/eventi'
): Promise<EventSource> {
  const sending = request(`${address}${path}${query}`, {
    headers: { accept: 'text/event-stream', 'accept-encoding': 'gzip', ...headers }, agent: false
  })
  sending.on('error', () => {}).end()
  t.teardown(() => sending.destroy())
  const [response] = await once(sending, 'response') as [IncomingMessage]
  const chunks: Buffer[] = []
  response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {})
  const text = () => Buffer.concat(chunks).toString()
  const events = () => text().split('\n\n').flatMap((part) => {
    const data = /^data: (.*)$/m.exec(part)
    return part.endsWith('}') && data ? [JSON.parse(data[1]!) as Event] : []
  })
  return {
    status: response.statusCode!,
    headers: response.headers,
    text,
    events,
    hears: (part) => until(() => text().includes(part)),
    async await (count) {
      await until(() => events().length >= count)
      return events()
    },
    ended: new Promise((resolve) => response.once('close', resolve)),
    close: () => sending.destroy()
  }
}

/**
 * Opens a transaction with a booking that commits later. Its booking has another country than those made meanwhile, so
 * that they do not wait for the same counter row.
 */
export async function lateTransaction (t: Pick<Test, 'teardown'>, url: string, paese = 276) {
  const other = connect(url, 1)
  t.teardown(() => other.close())
  const hasWritten = Promise.withResolvers<number>()
  const commit = Promise.withResolvers<void>()
  const committed = other.sql.begin(async (sql) => {
    await sql`set local idle_in_transaction_session_timeout = 0`
    const [row] = await sql<{ id: number }[]>`
      insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
      values ('Carla Neri', 'IT', ${paese}, '2026-12-01', '2026-12-03', 1) returning id`
    hasWritten.resolve(row!.id)
    await commit.promise
  })
  const id = await hasWritten.promise
  return { id, commit: async () => { commit.resolve(); await committed } }
}
