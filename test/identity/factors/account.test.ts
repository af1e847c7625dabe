import t from 'tap'
import { build } from '#test/helper.ts'
import { held } from '#test/identity/attacks/held.ts'
import { as, bearer, isLetIn } from '#test/identity/requests.ts'
import { provider, tokensOf, type Client } from '#test/identity/protocol/client.ts'
import { startSmtp } from '#test/smtp.ts'
import { enrolApp, personWithApp } from './authenticator.ts'

/* What a second factor keeps of an account from whoever has less. */

const smtp = await startSmtp(t)
const server = await provider(t, { SMTP_URL: smtp.url, MAIL_FROM: 'posta@locanda.example' })
const { app, signedIn, open } = server

const letIn = async (client: Client) => await isLetIn(app, bearer((await tokensOf(client)).access))

t.test('who has proven the password alone signs out what has no more, and shuts the owner out nowhere', async (t) => {
  const { client, person } = await personWithApp(server)
  await smtp.next()
  for (const scope of ['others', 'global', 'local'] as const) {
    const [half, other] = [await signedIn(person), await signedIn(person)]
    t.equal((await half.auth.signOut({ scope })).error, null)
    t.equal(await letIn(client), 200, `${scope}: the owner goes on`)
    const { error } = await other.auth.getUser()
    t.equal(error?.name, scope === 'local' ? undefined : 'AuthSessionMissingError')
  }
  const [whole, half] = [client, await signedIn(person)]
  t.equal((await whole.auth.signOut({ scope: 'others' })).error, null)
  t.match((await half.auth.getUser()).error, { name: 'AuthSessionMissingError' }, 'the owner ends all others')
})

t.test('a person is told by mail of every factor that is added and removed, and of new codes', async (t) => {
  const before = smtp.mails.length
  const { client, person: { id: userId, email }, app: { id } } = await personWithApp(server)
  await client.auth.mfa.recoveryCodes.generate()
  await client.auth.mfa.recoveryCodes.regenerate()
  await client.auth.mfa.recoveryCodes.unenroll()
  await client.auth.mfa.unenroll({ factorId: id })
  const again = await enrolApp(client)
  const { auth: { admin } } = open({ key: await server.token({ service: true }) })
  await admin.mfa.deleteFactor({ userId, id: again.id })
  const subjects = []
  for (let n = 0; n < 7; n++) {
    const mail = await smtp.next()
    t.same(mail.envelope.to, [email])
    subjects.push(mail.subject)
  }
  t.same(subjects.sort(), [
    'Nuovi codici di recupero', 'Nuovi codici di recupero', 'Nuovo secondo fattore', 'Nuovo secondo fattore',
    'Secondo fattore rimosso', 'Secondo fattore rimosso', 'Secondo fattore rimosso'
  ])
  t.equal(smtp.mails.length - before, 7)
})

t.test('a passkey is made only within a day of a sign-in or a proof, as a new password is set', async (t) => {
  const { app, token } = await build(t, { PUBLIC_URL: 'https://locanda.example' })
  const somebody = await token()
  const begin = async () => {
    const answer = await as(app, somebody, 'POST', '/auth/v1/passkeys/registration/options', {})
    return answer.json<{ error_code?: string }>().error_code
  }
  t.equal(await begin(), undefined)
  await app.sql`update sessions set created_at = created_at - interval '2 days', amr = '[]'`
  t.equal(await begin(), 'reauthentication_needed')
})

t.test('an administrator gives a factor another name, which is not that of another one', async (t) => {
  const { client, person: { id: userId }, app: phone } = await personWithApp(server)
  const tablet = await enrolApp(client, 'Tablet')
  const service = await server.token({ service: true })
  const rename = async (id: string, friendly_name?: string) => {
    const answer = await as(app, service, 'PUT', `/auth/v1/admin/users/${userId}/factors/${id}`, { friendly_name })
    return [answer.statusCode, answer.json<Record<string, string>>()] as const
  }
  t.match(await rename(phone.id, ' Telefono '), [200, { id: phone.id, friendly_name: 'Telefono' }])
  t.match(await rename(phone.id), [200, { friendly_name: 'Telefono' }])
  t.match(await rename(phone.id, 'Tablet'), [422, { error_code: 'mfa_factor_name_conflict' }])
  t.match(await rename(userId, 'Altro'), [404, { error_code: 'mfa_factor_not_found' }])
  t.match((await client.auth.mfa.listFactors()).data?.totp, [
    { id: phone.id, friendly_name: 'Telefono' }, { id: tablet.id, friendly_name: 'Tablet' }
  ])
})

t.test('what a factor guards is refused, too, when the factor came after the request was let in', async (t) => {
  const { app, person, signIn, sql, meanwhile } = await held(t, { PUBLIC_URL: 'https://locanda.example' })
  const id = await person('anna@example.org')
  const access = (await signIn('anna@example.org')).json<{ access_token: string }>().access_token
  const passkey = '00000000-0000-4000-8000-000000000000'
  const requests = [
    ['PUT', '/auth/v1/user', { password: 'un-altra-frase-lunga' }],
    ['PUT', '/auth/v1/user', { data: { name: 'Anna' } }],
    ['GET', '/api/cli/auth/key', undefined],
    ['POST', '/api/sessions/revoke-all', {}],
    ['POST', '/auth/v1/passkeys/registration/options', {}],
    ['DELETE', `/auth/v1/passkeys/${passkey}`, undefined],
    ['DELETE', `/auth/v1/user/identities/${passkey}`, undefined]
  ] as const
  for (const [method, url, payload] of requests) {
    await sql`delete from factors`
    await app.identity.waitForListeners()
    const answer = await meanwhile(
      async (tx) => {
        await tx`select id from users where id = ${id} for update`
        await tx`insert into factors (user_id, factor_type, status) values (${id}, 'totp', 'verified')`
      },
      () => as(app, access, method, url, payload)
    )
    const { error_code: code, codice } = answer.json<{ error_code?: string, codice?: string }>()
    t.match(code ?? codice, /^(insufficient_aal|SECONDO_FATTORE_RICHIESTO)$/, `${method} ${url}`)
  }
  t.equal((await sql`select id from sessions`).length, 1)
  t.same(await sql`select id from api_keys`, [])
})
