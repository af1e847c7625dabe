import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { EventMessage } from '#schemas/event.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import type { Certificate } from '#test/alloggiati/service/soap/certificate.ts'

export interface Received { path: string, headers: IncomingHttpHeaders, body: string, message: EventMessage }

/** Answers a delivery, or does not. */
export type Behaviour = (received: Received, response: ServerResponse) => void

export const answer = (status: number, headers: Record<string, string> = {}): Behaviour =>
  (_received, response) => { response.writeHead(status, headers).end() }
export const hang: Behaviour = () => {}

/** Somebody else's program to which events are delivered. */
export interface Receiver {
  url: string
  received: Received[]
  /** By default everything is taken. */
  behave: Behaviour
  /** Answers under way. */
  open (): number
  await (count: number): Promise<Received[]>
  ids (): string[]
}

export async function startReceiver (t: Pick<Test, 'teardown'>, certificate?: Certificate): Promise<Receiver> {
  let open = 0
  const listener: RequestListener = (request, response) => {
    open++
    response.once('close', () => { open-- })
    text(request).then((body) => {
      const message = JSON.parse(body) as EventMessage
      const one = { path: String(request.url), headers: request.headers, body, message }
      self.received.push(one)
      self.behave(one, response)
    }, () => {})
  }
  const server = certificate ? createSecureServer(certificate, listener) : createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const self: Receiver = {
    url: `http${certificate ? 's' : ''}://127.0.0.1:${(server.address() as AddressInfo).port}/eventi`,
    received: [],
    behave: answer(204),
    open: () => open,
    async await (count) {
      await until(() => self.received.length >= count)
      return self.received
    },
    ids: () => self.received.map(({ headers }) => String(headers['webhook-id']))
  }
  return self
}
