import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { Event } from '#schemas/event.ts'
import { until } from '#test/alloggiati/stand-in.ts'

/** A stream as a client sees it. */
export interface EventSource {
  status: number
  headers: IncomingMessage['headers']
  /** The bytes so far. */
  text (): string
  events (): Event[]
  /** Waits until this text has come. */
  hears (text: string): Promise<void>
  /** Waits until so many events have come. */
  await (count: number): Promise<Event[]>
  /** Resolves when the server has ended it. */
  ended: Promise<unknown>
  close (): void
}

export async function listen (app: FastifyInstance): Promise<string> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

/** Opens a stream of events. */
export async function openStream (
  t: Pick<Test, 'teardown'>, address: string, headers: Record<string, string>, query = ''
): Promise<EventSource> {
  const sending = request(`${address}/api/v1/eventi${query}`, {
    headers: { accept: 'text/event-stream', 'accept-encoding': 'gzip', ...headers }, agent: false
  })
  sending.on('error', () => {}).end()
  t.teardown(() => sending.destroy())
  const [answer] = await once(sending, 'response') as [IncomingMessage]
  const chunks: Buffer[] = []
  answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {})
  const text = () => Buffer.concat(chunks).toString()
  const events = () => text().split('\n\n').flatMap((part) => {
    const data = /^data: (.*)$/m.exec(part)
    return part.endsWith('}') && data ? [JSON.parse(data[1]!) as Event] : []
  })
  return {
    status: answer.statusCode!,
    headers: answer.headers,
    text,
    events,
    hears: (part) => until(() => text().includes(part)),
    async await (count) {
      await until(() => events().length >= count)
      return events()
    },
    ended: new Promise((resolve) => answer.once('close', resolve)),
    close: () => sending.destroy()
  }
}
