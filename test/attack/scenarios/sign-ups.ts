import { setTimeout as sleep } from 'node:timers/promises'
import { startSmtp } from '#test/smtp.ts'
import { bounded, type Scenario } from '../scenario.ts'
import { startTarget } from '../target.ts'

const ADMINISTRATORS = 38

/** Sends many sign-ups from up to ten thousand IP addresses, while administrators sign in. */
export const signUps: Scenario = {
  name: 'sign-ups while administrators sign in',
  async run () {
    const atEnd: (() => unknown)[] = []
    const smtp = await startSmtp({ teardown: (work: () => unknown) => { atEnd.push(work) } })
    const target = await startTarget({
      SIGNUP_ENABLED: 'true',
      SMTP_URL: smtp.url,
      MAIL_FROM: 'locanda@example.org',
      TRUST_PROXY: '127.0.0.1',
      RATE_LIMIT_LOGIN_MAX: '1000'
    })
    const post = (path: string, from: string, body: object) => fetch(target.address + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
      body: JSON.stringify(body)
    }).then(async (response) => { await response.arrayBuffer(); return response.status }, () => 0)
    try {
      const over = new AbortController()
      const flood = Array.from({ length: 40 }, async (_, lane) => {
        let sent = 0
        for (; !over.signal.aborted; sent++) {
          await post('/auth/v1/signup', `10.1.${lane}.${sent % 250}`, {
            email: `nuovo${lane}x${sent}@example.org`, password: 'una-frase-lunga-e-nuova'
          })
        }
        return sent
      })
      await sleep(500)
      const statuses: number[] = []
      for (let n = 0; n < ADMINISTRATORS; n++) {
        statuses.push(await post('/auth/v1/token?grant_type=password', `10.2.0.${n}`, {
          email: 'prima@example.org', password: 'una-frase-lunga-per-la-prima'
        }))
      }
      over.abort()
      const sent = (await Promise.all(flood)).reduce((sum, each) => sum + each, 0)
      const refused = statuses.filter((status) => status !== 200).length
      return {
        figures: { 'sign-ups': sent, 'sign-ins': statuses.length, refused },
        faults: bounded('sign-ins that were refused', refused, 0)
      }
    } finally {
      await target.stop()
      for (const work of atEnd) await work()
    }
  }
}
