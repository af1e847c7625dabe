import fc from 'fast-check'
import t from 'tap'
import { readConfig } from '#src/config/config.ts'
import { firstAdministrator } from '#src/identity/people/first-admin.ts'
import { isEmail, normalizeEmail } from '#src/identity/people/email.ts'
import { profileOf } from '#src/identity/oauth/profile.ts'
import { PASSWORD, site } from '#test/identity/mail/mailbox.ts'

/** In lower case, composed or compatible form each of these is `kate@example.org`, or looks like it. */
const FOREIGN = [
  '\u212Aate@example.org', // Kelvin sign
  'k\uff41te@example.org', // full-width a
  'kate@ex\uff41mple.org',
  'kate\uff20example.org',
  'kate@example.org\u00a0',
  '\ufeffkate@example.org',
  'kat\u0435@example.org', // Cyrillic
  'ka\u200bte@example.org',
  'kate@\u0131example.org', // dotless i
  'stra\u00dfe@example.org'
]

t.test('no text but an ASCII spelling of an address becomes that address', (t) => {
  const wrong: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code)
    const written = `a${character}b@example.org`
    const isSame = (each: number) => normalizeEmail(written) === `a${String.fromCharCode(each)}b@example.org`
    if (code >= 0x80 ? isEmail(written) || normalizeEmail(written) !== written : !isSame(lowerCase(code))) {
      wrong.push(code.toString(16))
    }
  }
  t.same(wrong, [])
  const name = fc.string({ unit: fc.constantFrom(...'abkKisSI.+', '\u212a', '\u0131', '\u017f', '\uff4b', 'e\u0301') })
  fc.assert(fc.property(name, (name) => {
    const address = `x${name}x@example.org`
    return isEmail(address) ? normalizeEmail(address) === address.toLowerCase() : /[^ -~]/.test(address)
  }))
  t.end()
})

t.test('an address that is not plain ASCII is refused by every way in', async (t) => {
  const place = await site(t)
  const { app, person, smtp, token } = place
  const id = await person('kate@example.org')
  const service = { authorization: `Bearer ${await token({ service: true })}` }
  const own = { authorization: `Bearer ${await token({ name: 'anna' })}` }
  const ways: [method: 'POST' | 'PUT', url: string, (email: string) => object, headers?: Record<string, string>][] = [
    ['POST', '/auth/v1/signup', (email) => ({ email, password: PASSWORD })],
    ['POST', '/auth/v1/recover', (email) => ({ email })],
    ['POST', '/auth/v1/otp', (email) => ({ email })],
    ['POST', '/auth/v1/resend', (email) => ({ email, type: 'signup' })],
    ['POST', '/auth/v1/verify', (email) => ({ email, type: 'signup', token: '000000' })],
    ['POST', '/auth/v1/token?grant_type=password', (email) => ({ email, password: PASSWORD })],
    ['PUT', '/auth/v1/user', (email) => ({ email }), own],
    ['POST', '/auth/v1/invite', (email) => ({ email }), service],
    ['POST', '/auth/v1/admin/generate_link', (email) => ({ type: 'recovery', email }), service],
    ['POST', '/auth/v1/admin/users', (email) => ({ email, password: PASSWORD }), service],
    ['PUT', `/auth/v1/admin/users/${id}`, (email) => ({ email }), service],
    ['POST', '/api/operators', (email) => ({ email, password: PASSWORD, name: 'K', surname: 'K' }), service]
  ]
  for (const email of FOREIGN) {
    t.equal(isEmail(email), false)
    for (const [method, url, body, headers] of ways) {
      const answer = await app.inject({ method, url, payload: body(email), headers })
      t.ok([400, 422].includes(answer.statusCode), `${method} ${url}: ${answer.statusCode} ${answer.body}`)
    }
    const { email: taken, emailVerified } = profileOf({
      issuer: 'x', subject: '1', email, emailVerified: true, name: '', userName: '', picture: ''
    })
    t.same([taken, emailVerified], [undefined, false])
  }
  t.same(smtp.mails, [])
  t.same([...await app.sql`select email from users order by email`], [
    { email: 'anna@example.org' }, { email: 'kate@example.org' }
  ])
  await app.sql`delete from users`
  const config = readConfig({ DATA_DIR: place.dataDir, ADMIN_EMAIL: FOREIGN[0], ADMIN_PASSWORD: PASSWORD })
  await t.rejects(firstAdministrator(app, config), /ADMIN_EMAIL/)
})

t.test('every text is recognized as an address, or not, in a short time', (t) => {
  for (const text of [
    'a'.repeat(254),
    `${'a'.repeat(120)}@${'a.'.repeat(66)}`,
    `a@${'a-'.repeat(126)}`,
    `a@${'.'.repeat(252)}`,
    '@'.repeat(254),
    'a@'.repeat(127)
  ]) { t.notOk(isEmail(text)) }
  t.end()
})

function lowerCase (code: number): number {
  return code >= 0x41 && code <= 0x5a ? code + 0x20 : code
}
