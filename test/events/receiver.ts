import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { EventMessage } from '#schemas/event.ts'
import type { Delivery, Webhook, WebhookSecret } from '#schemas/webhook.ts'
import type { Certificate } from '#test/alloggiati/service/soap/certificate.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import type { TestApp } from '#test/helper.ts'
import { serve } from '#test/loopback.ts'

export interface Received { path: string, headers: IncomingHttpHeaders, body: string, message: EventMessage }

/** Handles a delivery, with or without a response. */
export type Behaviour = (received: Received, response: ServerResponse) => void

export const answer = (status: number, headers: Record<string, string> = {}): Behaviour =>
  (_received, response) => { response.writeHead(status, headers).end() }

export const hang: Behaviour = () => {}

/** A webhook receiver. */
export interface Receiver {
  url: string
  received: Received[]
  /** Accepts every delivery by default. */
  behave: Behaviour
  /** The number of responses in progress. */
  open (): number
  await (count: number): Promise<Received[]>
  ids (): string[]
}

export async function startReceiver (t: Pick<Test, 'teardown'>, certificate?: Certificate): Promise<Receiver> {
  let open = 0
  const { url } = await serve(t, (request, response) => {
    open++
    response.once('close', () => { open-- })
    text(request).then((body) => {
      const message = JSON.parse(body) as EventMessage
      const one = { path: String(request.url), headers: request.headers, body, message }
      self.received.push(one)
      self.behave(one, response)
    }, () => {})
  }, certificate)
  const self: Receiver = {
    url: `${url}/eventi`,
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

export const WEBHOOKS = '/api/v1/webhooks'

/** The actions of an administrator on webhooks. */
export async function hooking ({ app, token }: Pick<TestApp, 'app' | 'token'>) {
  const authorization = `Bearer ${await token({ name: 'capo', role: 'admin' })}`

  async function ask (
    method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object, headers: Record<string, string> = {}
  ) {
    return await app.inject({
      method, url: path, headers: { authorization, ...headers }, ...(payload === undefined ? {} : { payload })
    })
  }

  async function answered<T> (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object): Promise<T> {
    const answer = await ask(method, path, payload)
    if (answer.statusCode >= 300) throw new Error(`${answer.statusCode} ${answer.body}`)
    return answer.json<T>()
  }

  const deliveries = async (id: number, query = '') =>
    (await answered<{ data: Delivery[] }>('GET', `${WEBHOOKS}/${id}/consegne${query}`)).data
  return {
    ask,
    authorization,
    deliveries,
    add: async (url: string, tipi: string[] = []) =>
      (await answered<{ data: Webhook }>('POST', WEBHOOKS, { url, tipi })).data,
    find: async (id: number) => (await answered<{ data: Webhook }>('GET', `${WEBHOOKS}/${id}`)).data,
    remove: (id: number) => answered('DELETE', `${WEBHOOKS}/${id}`),
    resume: (id: number) => answered('POST', `${WEBHOOKS}/${id}/riattiva`, {}),
    repeat: (id: number, delivery: number) => ask('POST', `${WEBHOOKS}/${id}/consegne/${delivery}/ripeti`, {}),
    secret: (id: number) => answered<WebhookSecret>('GET', `${WEBHOOKS}/${id}/segreto`),
    rotate: (id: number) => answered('POST', `${WEBHOOKS}/${id}/segreto`, {}),
    /** Waits until this number of deliveries have the state. */
    settled: async (id: number, stato: Delivery['stato'], count: number) => {
      // Queries the database, because a request costs ten times as much.
      await until(async () => (await app.sql`
        select from webhook_consegne where webhook_id = ${id} and stato = ${stato}`).length >= count)
      return await deliveries(id, `?stato=${stato}`)
    }
  }
}
