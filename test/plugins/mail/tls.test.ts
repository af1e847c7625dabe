import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t, { type Test } from 'tap'
import { smtpOptions } from '#src/plugins/mail/transport.ts'
import { selfSigned } from '#test/alloggiati/service/soap/certificate.ts'
import { startSmtp } from '#test/smtp.ts'
import { bareWorker, comeDue, over, postponed } from './posting.ts'

const own = selfSigned(t.testdir(), 'IP:127.0.0.1')
const skip = own === undefined ? 'openssl is not installed: no certificate to test with' : false
if (skip) t.comment(skip)

const SERVERS = {
  'TLS from the beginning': { ...own, secure: true, disabledCommands: ['AUTH'] },
  STARTTLS: { ...own, disabledCommands: ['AUTH'] }
}

/**
 * From here on the process trusts these certificates, as an administrator would have it do; no longer than the test
 * lasts.
 */
function trust (t: Test, certificate: string): void {
  const before = getCACertificates('default')
  t.teardown(() => setDefaultCACertificates(before))
  setDefaultCACertificates([...before, certificate])
}

for (const [name, options] of Object.entries(SERVERS)) {
  t.test(
    `${name}: nothing is sent to a server with a certificate that nobody vouches for, until it is trusted`,
    { skip },
    async (t) => {
      const smtp = await startSmtp(t, options)
      const { db, worker, enqueue } = await bareWorker(t, smtp)
      const { id } = await enqueue()
      worker.deliver()
      t.match(await postponed({ db }, id), { last_error: 'DEPTH_ZERO_SELF_SIGNED_CERT', attempts: 1 })
      t.equal(smtp.mails.length, 0)

      trust(t, own!.cert)
      await comeDue({ db })
      worker.deliver()
      t.match(await over({ db }, id), { stato: 'inviata' })
      t.match((await smtp.next()).secure, true)
    }
  )
}

t.test('verification cannot be turned off from outside', { skip }, async (t) => {
  t.intercept(process, 'emitWarning', { value: () => {} })
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.teardown(() => { delete process.env.NODE_TLS_REJECT_UNAUTHORIZED })
  for (const options of Object.values(SERVERS)) {
    const smtp = await startSmtp(t, options)
    const { db, worker, enqueue } = await bareWorker(t, smtp)
    const { id } = await enqueue()
    worker.deliver()
    t.match(await postponed({ db }, id), { last_error: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    t.equal(smtp.mails.length, 0)
  }
})

t.test('a server that is not on loopback gets nothing in clear, whatever it offers', async (t) => {
  // The same server by an address that does not read as loopback.
  const smtp = await startSmtp(t)
  const { db, worker, enqueue } = await bareWorker(t, { url: `smtp://[::ffff:127.0.0.1]:${smtp.port}` })
  const { id } = await enqueue()
  worker.deliver()
  t.match(await postponed({ db }, id), { last_error: 'ETLS' })
  t.equal(smtp.mails.length, 0)
})

t.test('the URL says who, where and how', async (t) => {
  t.match(smtpOptions('smtps://posta%40locanda:p%3Aa%2Fss@smtp.example:4650'), {
    host: 'smtp.example',
    port: 4650,
    secure: true,
    auth: { user: 'posta@locanda', pass: 'p:a/ss' },
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' }
  })
  const plain = smtpOptions('smtp://smtp.example')
  t.match(plain, { host: 'smtp.example', port: 587, secure: false, requireTLS: true })
  t.notOk('auth' in plain)
  t.equal(smtpOptions('smtp://[2001:db8::1]:25/').host, '2001:db8::1')
  for (const loopback of ['localhost', 'LOCALHOST', '127.0.0.1', '127.9.9.9', '[::1]']) {
    t.equal(smtpOptions(`smtp://${loopback}:25`).requireTLS, false, loopback)
  }
  for (const other of ['localhost.example', '127.0.0.1.example', '128.0.0.1', '[::2]', '0.0.0.0', '10.0.0.1']) {
    t.equal(smtpOptions(`smtp://${other}:25`).requireTLS, true, other)
  }
})

t.test('a URL with anything else in it is refused, without being repeated', async (t) => {
  const urls = [
    'smtp://posta:segreta@127.0.0.1?tls.rejectUnauthorized=false',
    'smtp://posta:segreta@127.0.0.1/?logger=true',
    'smtp://posta:segreta@127.0.0.1/cartella',
    'smtp://posta:segreta@127.0.0.1#x',
    'smtp://posta:segreta%@127.0.0.1',
    'smtp://',
    'smtp:///segreta',
    'smtp://posta:segreta@127.0.0.1:99999'
  ]
  for (const url of urls) {
    t.throws(() => smtpOptions(url), { name: 'ConfigError', message: /^SMTP_URL: (?!.*segreta)/ }, url)
  }
})
