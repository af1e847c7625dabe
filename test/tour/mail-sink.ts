import process from 'node:process'
import { startSmtp } from '#test/smtp.ts'

/*
 * An SMTP server on loopback that accepts every mail, prints it and delivers none: npm run mail-sink [-- PORT]. It runs
 * until Ctrl-C. The server needs the printed SMTP_URL and MAIL_FROM to send there.
 */

const [port = '2525'] = process.argv.slice(2)

try {
  const { url } = await startSmtp({ teardown () {} }, {
    port: Number(port),
    decide ({ envelope: { from, to }, subject, text }) {
      process.stdout.write(`\nDa       ${from}\nA        ${to.join(', ')}\nOggetto  ${subject}\n\n${text.trimEnd()}\n`)
    }
  })
  process.stdout.write(`Posta    SMTP_URL=${url} MAIL_FROM=locanda@example.org make start\n`)
} catch (err) {
  process.stderr.write(`Non parte sulla porta ${port}: ${err instanceof Error ? err.message : String(err)}\n`)
  process.exitCode = 1
}
