import type { Delivery, Webhook, WebhookSecret } from '#schemas/webhook.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import type { TestApp } from '#test/helper.ts'

export const WEBHOOKS = '/api/v1/webhooks'

/** What an administrator does with webhooks. */
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
    /** Waits until so many deliveries have come to a state. */
    settled: async (id: number, stato: Delivery['stato'], count: number) => {
      // Asked of the database: a request costs ten times as much.
      await until(async () => (await app.sql`
        select from webhook_consegne where webhook_id = ${id} and stato = ${stato}`).length >= count)
      return await deliveries(id, `?stato=${stato}`)
    }
  }
}
