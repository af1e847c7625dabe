import { addIdentity, updateProviders } from '#src/identity/people/identity-rows.ts'
import { form, FORM_TYPE } from '#test/identity/form.ts'
import { signIn } from '#test/helper.ts'
import { jpeg } from '#test/services/images/pictures.ts'
import { anError, anInteger, anyText, exactly, INSTANT, UUID, type Wanted } from './exactly.ts'
import { PUBLIC_URL, type SharedServer, type Prove } from './shared-server.ts'

/** Rows about administration, users and sessions. */
export async function administrationRows (
  { app, admin, operator, key, smtp, operatorId }: SharedServer, prove: Prove
): Promise<void> {
  const NEW = { email: 'piero@example.org', password: 'una-frase-lunga-e-mia', name: 'Piero', surname: 'Neri' }
  const user = (email: string, metadata: Record<string, Wanted>): Record<string, Wanted> => ({
    id: UUID,
    aud: 'authenticated',
    role: 'authenticated',
    email,
    email_confirmed_at: INSTANT,
    confirmed_at: INSTANT,
    phone: '',
    app_metadata: { provider: 'email', providers: ['email'], role: 'operator' },
    user_metadata: metadata,
    identities: [{
      identity_id: UUID,
      id: UUID,
      user_id: UUID,
      identity_data: (value) => typeof value === 'object',
      provider: 'email',
      last_sign_in_at: INSTANT,
      created_at: INSTANT,
      updated_at: INSTANT,
      email
    }],
    created_at: INSTANT,
    updated_at: INSTANT,
    is_anonymous: false
  })
  const asPerson = async (name: string) => {
    const { access_token: token, user: { id } } = await signIn(app, name, 'operator')
    const ask = async (method: 'GET' | 'POST', url: string, payload?: object) => await app.inject({
      method, url, headers: { authorization: `Bearer ${token}` }, ...(payload && { payload })
    })
    return { ask, id }
  }

  await prove('E28', async (t) => {
    exactly(t, await admin('POST', '/api/operators', NEW), 200, user(NEW.email, { name: 'Piero', surname: 'Neri' }))
    exactly(t, await admin('POST', '/api/operators', NEW), 409, anError(409, /./))
    exactly(t, await admin('POST', '/api/operators', {}), 400, anError(400, /./, {
      dettagli: ['email', 'password', 'name', 'surname'].map((campo) => ({ campo, messaggio: /./ }))
    }))
  })
  await prove('E29', async (t) => {
    await signIn(app, 'in-attesa', 'pending')
    const found = (await admin('GET', '/api/operators')).json<{ email: string, app_metadata: { role: string } }[]>()
    t.ok(found.some(({ email }) => email === NEW.email))
    t.same([...new Set(found.map(({ app_metadata: { role } }) => role))].sort(), ['admin', 'operator'])
  })
  await prove('E31', async (t) => {
    const found = (await admin('GET', '/api/users')).json<Record<string, unknown>[]>()
    t.strictSame(Object.keys(found[0]!), ['id', 'email', 'user_metadata', 'created_at'])
    t.match(found.find(({ email }) => email === NEW.email), {
      id: UUID, user_metadata: { name: 'Piero' }, created_at: INSTANT
    })
  })
  await prove('E30', async (t) => {
    const payload = form([['userId', operatorId], ['file', await jpeg(), 'io.jpg']])
    const response = await admin('POST', '/api/operators/pfp', payload, { 'content-type': FORM_TYPE })
    const path = `avatars/${operatorId}.jpg`
    exactly(t, response, 200,
      { success: true, message: /./, path, url: `${PUBLIC_URL}/api/storage/${path}`, status: 200 })
  })
  await prove('E32', async (t) => {
    const recipients = ['giulia@example.org', 'marco@example.org']
    const mail = { recipients, subject: 'Il vostro arrivo', body: '<p>Vi aspettiamo dalle <b>15</b>.</p>' }
    const each = (recipient: string): Wanted => ({
      recipient, id: anInteger, messageId: /^<.+>$/, stato: 'inviata', risposta: /^250/, spiegazione: /./
    })
    // On a busy machine the response may be earlier than the delivery.
    let response = await admin('POST', '/api/send-email', mail)
    for (let n = 0; n < 5 && response.body.includes('in_coda'); n++) {
      response = await admin('POST', '/api/send-email',
        mail)
    }
    exactly(t, response, 200, {
      success: true,
      message: /./,
      messageId: /^<.+>$/,
      accepted: recipients,
      rejected: [],
      recipients: recipients.map(each),
      status: 200
    })
    t.match(await smtp.next(), { subject: mail.subject, html: /<b>15<\/b>/ })
    exactly(t, await admin('POST', '/api/send-email', {}), 400, anError(400, /./, {
      dettagli: ['recipients', 'subject', 'body'].map((campo) => ({ campo, messaggio: /./ }))
    }))
  })
  for (const row of ['E33', 'A6'] as const) {
    await prove(row, async (t) => {
      const response = await admin('POST', '/api/admin/grant-cookie')
      exactly(t, response, 200, { success: true, message: /./, expires_at: INSTANT, status: 200 })
      const set = [response.headers['set-cookie']].flat().map(String)
      const granted = set.find((each) => each.startsWith('service_admin_access=granted;')) ?? ''
      t.strictSame(granted.split('; ').sort(),
        ['HttpOnly', 'Path=/ad/', 'SameSite=Strict', 'Secure', 'service_admin_access=granted'])
      const cookie = set.map((each) => each.split(';')[0]).join('; ')
      t.equal((await app.inject({ url: '/ad/', headers: { cookie } })).statusCode, 200)
      exactly(t, await app.inject({ url: '/ad/', headers: { cookie: 'service_admin_access=granted' } }), 401,
        anError(401, /./))
    })
  }
  for (const row of ['E34', 'A4'] as const) {
    await prove(row, async (t) => {
      const { ask, id } = await asPerson(`collegata-${row.toLowerCase()}`)
      await app.db.transaction(async (tx) => {
        for (const provider of ['google', 'github']) {
          await addIdentity(tx, id, {
            provider, provider_id: `${provider}-${row}`, identity_data: { email: 'x@example.org', email_verified: true }
          })
        }
        await updateProviders(tx, id)
      })
      exactly(t, await ask('POST', '/api/auth/unlink', { provider: 'google' }), 200, {
        success: true, message: 'Provider google scollegato', status: 200
      })
      exactly(t, await ask('POST', '/api/auth/unlink', { provider: 'google' }), 404, anError(404, /./))
      t.equal((await ask('GET', '/api/sessions')).statusCode, 200, 'a user who is no administrator')
      t.equal((await ask('POST', '/api/sessions/revoke-all')).statusCode, 200)
    })
  }
  await prove('E35', async (t) => {
    const { ask } = await asPerson('due-volte')
    await asPerson('due-volte')
    const one = (current: boolean): Wanted => ({
      id: UUID, created_at: INSTANT, updated_at: INSTANT, user_agent: 'prova', ip: '127.0.0.1', current
    })
    const sessions = (await ask('GET', '/api/sessions')).json<{ current: boolean }[]>()
    exactly(t, await ask('GET', '/api/sessions'), 200, sessions.map(({ current }) => one(current)))
    t.same(sessions.map(({ current }) => current).sort(), [false, true])
    exactly(t, await key('GET', '/api/sessions'), 200, [])
  })
  await prove('E36', async (t) => {
    const [here, there] = [await asPerson('ovunque'), await asPerson('ovunque')]
    exactly(t, await here.ask('POST', '/api/sessions/revoke-all'), 200, {
      success: true, message: /^2 sessioni/, revoked: 2, status: 200
    })
    for (const { ask } of [here, there]) exactly(t, await ask('GET', '/api/sessions'), 401, anError(401, anyText))
  })
  await prove('E48', async (t) => {
    exactly(t, await operator('GET', '/api/cli/auth/key'), 200, {
      apiKey: /^\S{20,}$/, id: /^[0-9a-f]{16}$/, created_at: INSTANT, expires_at: INSTANT
    })
    exactly(t, await key('GET', '/api/cli/auth/key'), 403, anError(403, /./))
  })
}
