import type { SupabaseClient } from '@supabase/supabase-js'
import t from 'tap'
import { HOME, type Letter, PASSWORD, site } from './mailbox.ts'

t.test('recovery of an account', async (t) => {
  const { app, client, enter, letter, follow, person, administrator, logs } = await site(t)
  await person('ada@ospiti.example')

  t.test('with the link a person sets a password without the old one, and every earlier session ends', async (t) => {
    const before = client().auth
    await before.signInWithPassword({ email: 'ada@ospiti.example', password: PASSWORD })
    const auth = client().auth
    t.same(await auth.resetPasswordForEmail('ada@ospiti.example', { redirectTo: `${HOME}/nuova-password?passo=2` }),
      { data: {}, error: null })
    const { link } = await letter()
    const { status, target, fragment } = await follow(link)
    t.equal(status, 303)
    t.equal(target.origin + target.pathname + target.search, `${HOME}/nuova-password?passo=2`)
    t.equal(fragment.get('type'), 'recovery', 'the client gets the type of the link')
    const { error } = await auth.setSession({
      access_token: fragment.get('access_token')!,
      refresh_token: fragment.get('refresh_token')!
    })
    t.equal(error, null)
    t.match((await auth.getClaims()).data?.claims.amr, [{ method: 'otp' }])
    t.equal((await auth.updateUser({ password: 'una-frase-del-tutto-nuova' })).error, null)

    t.ok((await before.getUser()).error, 'the old session has ended')
    t.ok((await before.refreshSession()).error)
    t.equal((await auth.getUser()).error, null, 'the new session is active')
    t.equal(await enter('ada@ospiti.example', 'una-frase-del-tutto-nuova'), undefined)
    t.equal(await enter('ada@ospiti.example'), 'invalid_credentials')

    const again = await follow(link)
    t.match(again, { status: 303, target: { origin: HOME } }, 'the link works once')
    t.equal(again.fragment.get('error_code'), 'otp_expired')
    t.equal(again.target.searchParams.get('error_code'), 'otp_expired')
    t.equal(again.fragment.get('access_token'), null)
  })

  t.test('with PKCE the link gives a code to the client that requested the mail', async (t) => {
    await person('bea@ospiti.example')
    const auth = client({ flowType: 'pkce' }).auth
    await auth.resetPasswordForEmail('bea@ospiti.example', { redirectTo: HOME })
    const { target } = await follow((await letter()).link)
    const stranger = await app.inject({
      method: 'POST',
      url: '/auth/v1/token?grant_type=pkce',
      payload: { auth_code: 'di-nessuno', code_verifier: 'x'.repeat(43) }
    })
    t.equal(stranger.statusCode, 404)
    const { data, error } = await auth.exchangeCodeForSession(target.searchParams.get('code')!)
    t.equal(error, null)
    t.equal(data.user?.email, 'bea@ospiti.example')
    t.match((await auth.getClaims()).data?.claims.amr, [{ method: 'recovery' }])
    t.equal((await auth.updateUser({ password: 'una-frase-del-tutto-nuova' })).error, null)
  })

  t.test('the code in the mail has the same effect, and with PKCE it gives the session directly', async (t) => {
    await person('carla@ospiti.example')
    const auth = client({ flowType: 'pkce' }).auth
    await auth.resetPasswordForEmail('carla@ospiti.example')
    const { code } = await letter()
    const { data } = await auth.verifyOtp({ email: 'Carla@ospiti.example', token: code, type: 'recovery' })
    t.equal(data.user?.email, 'carla@ospiti.example')
    t.ok(data.session)
  })

  t.test('a new password voids the mails that were sent before', async (t) => {
    await person('dora@ospiti.example')
    await client().auth.resetPasswordForEmail('dora@ospiti.example', { redirectTo: HOME })
    await client().auth.signInWithOtp({ email: 'dora@ospiti.example' })
    const [recovery, magic] = [await letter(), await letter()]
    const auth = client().auth
    await auth.signInWithPassword({ email: 'dora@ospiti.example', password: PASSWORD })
    t.equal((await auth.updateUser({ password: 'una-frase-del-tutto-nuova' })).error, null)
    for (const { link } of [recovery, magic]) t.equal((await follow(link)).fragment.get('error_code'), 'otp_expired')
  })

  t.test('a recovery confirms an unconfirmed address and removes its password', async (t) => {
    await person('elena@ospiti.example', { email_confirm: false })
    await client().auth.resetPasswordForEmail('elena@ospiti.example')
    const { data } = await client().auth.verifyOtp({
      email: 'elena@ospiti.example', token: (await letter()).code, type: 'recovery'
    })
    t.ok(data.user?.email_confirmed_at)
    t.equal(await enter('elena@ospiti.example'), 'invalid_credentials')
  })

  t.test('a banned person gets no mail, and cannot sign in with an earlier mail', async (t) => {
    const id = await person('fina@ospiti.example')
    await client().auth.resetPasswordForEmail('fina@ospiti.example', { redirectTo: HOME })
    const { code, link } = await letter()
    t.equal((await (await administrator()).auth.admin.updateUserById(id, { ban_duration: '1h' })).error, null)
    t.equal((await client().auth.signInWithOtp({ email: 'fina@ospiti.example' })).error, null)
    t.same([...await app.sql`select kind from one_time_tokens where user_id = ${id}`], [{ kind: 'recovery' }])
    t.equal(
      (await client().auth.verifyOtp({ email: 'fina@ospiti.example', token: code, type: 'recovery' })).error?.code,
      'user_banned'
    )
    t.equal((await follow(link)).fragment.get('access_token'), null)
  })

  t.test('the audit log contains mail, sign-in and new password, without addresses', async (t) => {
    const rows = await app.sql<{ action: string; details: object }[]>`
      select actor, action, object, details from audit_log
      where action in ('accesso', 'email', 'password_cambiata') order by id`
    t.ok(
      rows.some(({ action, details }) =>
        action === 'accesso' && JSON.stringify(details) === '{"kind":"recovery","method":"otp"}')
    )
    t.ok(rows.some(({ action, details }) => action === 'email' && JSON.stringify(details) === '{"kind":"recovery"}'))
    t.ok(rows.some(({ action }) => action === 'password_cambiata'))
    t.notMatch(JSON.stringify(rows), /ospiti\.example/)
    t.notMatch(JSON.stringify(logs), /ospiti\.example/)
  })
})

const HALF_WAY = 'Confirmation link accepted. Please proceed to confirm link sent to the other email'

t.test('a change of one’s own address', async (t) => {
  const place = await site(t)
  const { app, client, enter, letter, follow, person, administrator, smtp } = place

  async function begin (
    name: string,
    flowType: 'implicit' | 'pkce' = 'implicit'
  ): Promise<{ auth: SupabaseClient['auth']; id: string; old: Letter; fresh: Letter }> {
    const id = await person(`${name}@ospiti.example`)
    const auth = client({ flowType }).auth
    await auth.signInWithPassword({ email: `${name}@ospiti.example`, password: PASSWORD })
    const { data, error } = await auth.updateUser(
      { email: `${name}@altrove.example` },
      { emailRedirectTo: `${HOME}/profilo` }
    )
    t.equal(error, null)
    t.match(data.user, { email: `${name}@ospiti.example`, new_email: `${name}@altrove.example` },
      'the account keeps the old one')
    return { auth, id, old: await letter(), fresh: await letter() }
  }

  t.test('a person who waits for a role cannot take the address of a future colleague', async (t) => {
    const stranger = { email: 'estranea@ospiti.example', password: PASSWORD }
    const id = await person(stranger.email, { app_metadata: { role: 'pending' } })
    const { auth } = client()
    await auth.signInWithPassword(stranger)
    // A colleague who expects an invitation may confirm any mail.
    t.match((await auth.updateUser({ email: 'collega@altrove.example' })).error, { status: 403, code: 'not_admin' })
    t.match(await app.sql`select new_email from users where id = ${id}`, [{ new_email: null }])
    t.same([...await app.sql`select 1 from one_time_tokens where sent_to = 'collega@altrove.example'`], [])
    t.equal((await auth.updateUser({ data: { name: 'Anna' } })).error, null)
  })

  t.test('both addresses get a mail, and both must confirm, in any order', async (t) => {
    for (const [name, newFirst] of [['ada', false], ['bea', true]] as const) {
      const { auth, old, fresh } = await begin(name)
      t.same([old.to, fresh.to], [`${name}@ospiti.example`, `${name}@altrove.example`])
      const [first, second] = newFirst ? [fresh, old] : [old, fresh]
      const half = await follow(first.link)
      t.match(half, { status: 303, target: { origin: HOME, pathname: '/profilo' } })
      t.same(Object.fromEntries(half.fragment), { message: HALF_WAY, sb: '' })
      t.equal((await auth.getUser()).data.user?.email, `${name}@ospiti.example`)
      t.equal((await follow(first.link)).fragment.get('error_code'), 'otp_expired', 'one address cannot confirm twice')

      const whole = await follow(second.link)
      t.equal(whole.fragment.get('type'), 'email_change')
      const { data: { user } } = await client().auth.getUser(whole.fragment.get('access_token')!)
      t.match(user, {
        email: `${name}@altrove.example`,
        new_email: undefined,
        identities: [{ identity_data: { email: `${name}@altrove.example`, email_verified: true } }]
      })
      t.equal(await enter(`${name}@altrove.example`), undefined)
      t.equal(await enter(`${name}@ospiti.example`), 'invalid_credentials')
    }
  })

  t.test('the codes also confirm, each for its own address, and with PKCE the last link gives a code', async (t) => {
    const { auth, old, fresh } = await begin('carla', 'pkce')
    t.equal((await auth.verifyOtp({ email: old.to, token: fresh.code, type: 'email_change' })).error?.code,
      'otp_expired')
    const response = await app.inject({
      method: 'POST', url: '/auth/v1/verify', payload: { type: 'email_change', email: fresh.to, token: fresh.code }
    })
    t.same(response.json(), { msg: HALF_WAY, code: '200' })
    const { target } = await follow(old.link)
    const { data } = await auth.exchangeCodeForSession(target.searchParams.get('code')!)
    t.equal(data.user?.email, 'carla@altrove.example')

    const dora = await begin('dora')
    t.equal((await dora.auth.verifyOtp({ email: dora.old.to, token: dora.old.code, type: 'email_change' })).error,
      null)
    const whole = await dora.auth.verifyOtp({ email: dora.fresh.to, token: dora.fresh.code, type: 'email_change' })
    t.equal(whole.data.user?.email, 'dora@altrove.example')
    t.ok(whole.data.session)
  })

  t.test('two simultaneous confirmations cause one change', async (t) => {
    const { auth: { admin } } = await administrator()
    for (const name of ['elena', 'emma', 'elsa', 'edda', 'elisa', 'egle']) {
      await person(`${name}@ospiti.example`)
      const links: string[] = []
      for (const type of ['email_change_current', 'email_change_new'] as const) {
        links.push(
          (await admin.generateLink({ type, email: `${name}@ospiti.example`, newEmail: `${name}@altrove.example` }))
            .data.properties!.action_link
        )
      }
      const responses = await Promise.all(links.map((link) => follow(link)))
      t.equal(responses.filter(({ fragment }) => fragment.has('access_token')).length, 1)
      t.equal(responses.filter(({ fragment }) => fragment.get('message') === HALF_WAY).length, 1)
    }
  })

  t.test('an address of another account is refused, even if that account got it meanwhile', async (t) => {
    for (const name of ['gina', 'rosa']) await person(`${name}@ospiti.example`)
    const { auth, id, old, fresh } = await begin('fina')
    await follow(old.link)
    await person('fina@altrove.example')
    const late = await follow(fresh.link)
    t.equal(late.fragment.get('error_code'), 'email_exists')
    t.match((await auth.getUser()).data.user, { email: 'fina@ospiti.example', new_email: undefined })
    t.same([...await app.sql`select kind from one_time_tokens where user_id = ${id}`], [])

    const other = client().auth
    await other.signInWithPassword({ email: 'gina@ospiti.example', password: PASSWORD })
    t.equal((await other.updateUser({ email: 'Rosa@ospiti.example' })).error?.code, 'email_exists')
    await app.sql`update counters set count = 1000 where name = 'new-address/account'`
    t.equal((await other.updateUser({ email: 'ada@altrove.example' })).error?.code, 'over_request_rate_limit',
      'attempts are counted')
  })

  t.test('the current address and an invalid address change nothing', async (t) => {
    await person('ilda@ospiti.example')
    const auth = client().auth
    await auth.signInWithPassword({ email: 'ilda@ospiti.example', password: PASSWORD })
    const sent = smtp.mails.length
    t.match((await auth.updateUser({ email: 'Ilda@Ospiti.example' })).data.user,
      { email: 'ilda@ospiti.example', new_email: undefined })
    t.equal((await auth.updateUser({ email: 'nessun indirizzo' })).error?.code, 'validation_failed')
    t.equal(smtp.mails.length, sent)
  })

  t.test('another change, a new password or an administrator’s change voids the first change', async (t) => {
    const { auth, old, fresh } = await begin('lina')
    await follow(old.link)
    await place.forgetCounts()
    const session = (await auth.getSession()).data.session!
    const elsewhere = client().auth
    await elsewhere.setSession(session)
    t.equal((await elsewhere.updateUser({ email: 'lina@terza.example' })).error, null)
    const [, third] = [await letter(), await letter()]
    t.equal((await follow(fresh.link)).fragment.get('error_code'), 'otp_expired')
    t.equal((await follow(third.link)).fragment.get('message'), HALF_WAY,
      'the confirmation of the first change does not count')

    const mara = await begin('mara')
    await follow(mara.old.link)
    t.equal((await mara.auth.updateUser({ password: 'una-frase-del-tutto-nuova' })).error, null)
    t.equal((await follow(mara.fresh.link)).fragment.get('error_code'), 'otp_expired')
    t.equal((await mara.auth.getUser()).data.user?.new_email, undefined)

    const nora = await begin('nora')
    await follow(nora.fresh.link)
    await (await administrator()).auth.admin.updateUserById(nora.id, { email: 'nora@terza.example' })
    t.equal((await follow(nora.old.link)).fragment.get('error_code'), 'otp_expired')
    t.equal((await nora.auth.getUser()).data.user?.email, 'nora@terza.example')
  })

  t.test('a repeated request sends a mail only to the address that has not confirmed', async (t) => {
    const { old, fresh } = await begin('olga')
    await follow(old.link)
    await place.forgetCounts()
    t.equal((await client().auth.resend({ type: 'email_change', email: 'olga@ospiti.example' })).error, null)
    const again = await letter()
    t.equal(again.to, 'olga@altrove.example')
    t.equal((await follow(fresh.link)).fragment.get('error_code'), 'otp_expired')
    t.ok((await follow(again.link)).fragment.get('access_token'))
  })
})
