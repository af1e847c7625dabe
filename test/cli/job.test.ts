import t, { type Test } from 'tap'
import type { Job } from '#schemas/job.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import type { Who } from '#test/helper.ts'
import { errorOf, user } from './process.ts'
import { site } from './site.ts'

/** A server, and a user with a key of this person's, good for these scopes. */
async function signedIn (t: Test, who: Who = { name: 'capo', role: 'admin' }, scopes = 'amministrazione') {
  const server = await site(t)
  const terminal = user(t)
  const headers = { authorization: `Bearer ${await server.token(who)}` }
  const minted = await server.app.inject({ url: `/api/cli/auth/key?scopes=${scopes}`, headers })
  terminal.keep({ url: server.url, key: minted.json<{ apiKey: string }>().apiKey })
  return { ...server, ...terminal }
}

t.test('without a name the jobs are listed', async (t) => {
  const { run, act } = await signedIn(t)
  const { code, stdout, stderr } = await run(['job'])
  t.equal(code, 0, stderr)
  t.match(stdout, /^LAVORO +ULTIMO AVVIO +DURATA +ESITO +PROSSIMO AVVIO\n/)
  t.match(stdout, /^old-mails +— +— +— +\d{4}-\d\d-\d\d 03:43$/m)
  const { data } = JSON.parse((await act(['--json', 'job'])).stdout) as { data: Job[] }
  t.match(data.find(({ nome }) => nome === 'old-mails'), { cron: '43 3 * * *', in_corso: false })
})

t.test('a job is run, and its outcome and duration are told', async (t) => {
  const { run, app } = await signedIn(t)
  const { code, stdout, stderr } = await run(['job', 'old-mails'])
  t.equal(code, 0, stderr)
  t.match(stdout, /^old-mails: riuscito in [\d,]+ m?s\n$/)
  t.match([...await app.sql`select object from audit_log where action = 'lavoro'`], [{ object: 'lavoro:old-mails' }])
})

t.test('a job that fails is an exit with 1, and it is said where the reason is', async (t) => {
  const { act, app } = await signedIn(t)
  await app.sql`alter table mails rename to mails_away`
  const { code, stdout, stderr } = await act(['job', 'old-mails'])
  t.equal(code, 1)
  t.match(stdout, /^old-mails: fallito \(42P01\) in /)
  t.match(stderr, /nel log del server: la riga «job failed» con "job":"old-mails"/)
})

t.test('the end of a long job is waited for', async (t) => {
  const { act, app } = await signedIn(t)
  let ended: ReturnType<typeof act> | undefined
  await app.sql.begin(async (sql) => {
    await sql`set local idle_in_transaction_session_timeout = 0`
    await sql`lock table mails in access exclusive mode`
    // On this connection: on another the driver may put a query behind the job's, which waits for the lock.
    const running = () => sql`select from jobs where name = 'old-mails' and lease_until is not null`
    ended = act(['job', 'old-mails'])
    await until(async () => (await running()).length === 1)
    const [again] = await Promise.all([
      act(['--json', 'job', 'old-mails']),
      // Longer than the server waits with its answer, and not as long as a statement may take.
      until(async () => (await sql`
        select from jobs
        where name = 'old-mails' and started_at < clock_timestamp() - interval '11 seconds'`).length === 1)
    ])
    t.equal(again.code, 1)
    t.match(errorOf(again), { codice: 'LAVORO_IN_CORSO' })
  })
  const { code, stdout, stderr } = await ended!
  t.equal(code, 0, stderr)
  t.match(stdout, /^old-mails: riuscito in \d\d+(,\d)? s\n$/)
  t.match(stderr, /in corso/)
})

t.test('an unknown job, and a caller who is no administrator, are refused in the server\'s words', async (t) => {
  const admin = await signedIn(t)
  const unknown = await admin.act(['--json', 'job', 'assente'])
  t.equal(unknown.code, 1)
  t.match(errorOf(unknown), { codice: 'LAVORO_NON_TROVATO' })
  const operator = await signedIn(t, {})
  t.match(errorOf(await operator.act(['--json', 'job'])), { codice: 'NON_AUTORIZZATO' })
  const reader = await signedIn(t, { name: 'capo', role: 'admin' }, 'lettura')
  t.match(errorOf(await reader.act(['--json', 'job'])), { codice: 'AMBITO_INSUFFICIENTE' })
})
