import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { browsers } from '#src/identity/sign-in/browser.ts'

t.test('a browser that brings two cookies of the name is not known: another site may have set one', (t) => {
  const { remember, isSame } = browsers({ PUBLIC_URL: 'http://locanda.example' })
  const set: string[] = []
  const reply = { setCookie: (_name: string, value: string) => set.push(value) } as unknown as FastifyReply
  const asks = (...values: string[]) => ({
    headers: { cookie: values.map((value) => `locanda_browser=${value}`).join('; ') },
    cookies: { locanda_browser: values[0] }
  }) as unknown as FastifyRequest
  const { digest, giveCookie } = remember(asks())
  giveCookie(reply)
  const [own] = set as [string]
  const stranger = 'x'.repeat(43)
  t.ok(isSame(asks(own), digest))
  t.notOk(isSame(asks(stranger), digest))
  t.notOk(isSame(asks(own, stranger), digest))
  t.notSame(remember(asks(stranger, own)).digest, remember(asks(stranger)).digest, 'nor is the first of them kept')
  t.end()
})
