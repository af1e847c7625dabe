import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { createTransport } from 'nodemailer'
import t, { type Test } from 'tap'
import { freePort } from '#test/free-port.ts'

const SINK = fileURLToPath(new URL('mail-sink.ts', import.meta.url))

function sink (t: Test, port: number) {
  const child = spawn(process.execPath, [SINK, String(port)], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

t.test('the mail sink prints its setting and each mail, and a second sink on the same port exits', async (t) => {
  const port = await freePort()
  const child = sink(t, port)
  const [ready] = await once(child.stdout, 'data') as [Buffer]
  t.equal(String(ready), `Posta    SMTP_URL=smtp://127.0.0.1:${port} MAIL_FROM=locanda@example.org make start\n`)

  const second = sink(t, port)
  const closed = once(second, 'close')
  t.match(await text(second.stderr), /^Non parte sulla porta \d+: .*EADDRINUSE/)
  t.same(await closed, [1, null])

  const transport = createTransport({ host: '127.0.0.1', port })
  const printed = once(child.stdout, 'data') as Promise<[Buffer]>
  const parts = { subject: 'Già qui', text: 'Il codice è 123456' }
  await transport.sendMail({ from: 'a@example.org', to: 'ada@example.org', ...parts })
  transport.close()
  t.equal(String((await printed)[0]),
    '\nDa       a@example.org\nA        ada@example.org\nOggetto  Già qui\n\nIl codice è 123456\n')
})
