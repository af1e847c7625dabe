import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import type { Email, EmailAnswer } from '#schemas/email.ts'
import { environ } from '#test/plugins/mail/posting.ts'
import { build, type TestApp } from '#test/helper.ts'

/** What is sent where a test says nothing else. */
export const EMAIL = {
  recipients: ['ada@ospiti.example'],
  subject: 'Il vostro arrivo',
  body: '<p>Vi aspettiamo dalle <b>15</b>.</p>'
}

export interface Sender extends TestApp {
  /** `POST /api/send-email` by an administrator. */
  post (email?: Partial<typeof EMAIL>, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  /** The same where it is taken, and the milliseconds that the answer took. */
  send (email?: Partial<typeof EMAIL>): Promise<EmailAnswer & { ms: number }>
  /** `GET /api/v1/email` by an administrator. */
  follow (ids: readonly number[]): Promise<Email[]>
}

/** An application that sends through this server, and an administrator. */
export async function sender (
  t: Test,
  smtp: { url: string } | undefined,
  environment: Record<string, string> = {}
): Promise<Sender> {
  const built = await build(t, { ...(smtp && environ(smtp)), ...environment })
  const authorization = `Bearer ${await built.token({ name: 'anna', role: 'admin' })}`
  const post: Sender['post'] = (email, headers = {}) =>
    built.app.inject({
      method: 'POST',
      url: '/api/send-email',
      headers: { authorization, ...headers },
      payload: { ...EMAIL, ...email }
    })
  return {
    ...built,
    post,
    async send (email) {
      const begun = performance.now()
      const answer = await post(email)
      t.equal(answer.statusCode, 200, answer.body)
      return { ...answer.json<EmailAnswer>(), ms: performance.now() - begun }
    },
    async follow (ids) {
      const url = `/api/v1/email?ids=${ids.join()}`
      return (await built.app.inject({ url, headers: { authorization } })).json<{ data: Email[] }>().data
    }
  }
}
