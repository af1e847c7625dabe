import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { run } from '#src/cli/run-command.ts'
import { temporaryFolder } from '#test/helper.ts'

/** The program against the server at `url`, until it names the page to open. */
export async function begin (t: Test, url: string, args: readonly string[], timeoutMs?: number) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const code = run(args, {
    env: { LOCANDA_URL: url },
    stdin: Readable.from([]),
    stdout,
    stderr,
    home: temporaryFolder(t),
    hostname: 'portatile',
    ...(timeoutMs === undefined ? {} : { timeoutMs })
  }).finally(() => { stdout.end() })
  const [said] = await once(stderr, 'data') as [Buffer]
  return { code, said: String(said), page: /^http.*$/m.exec(String(said))?.[0] ?? '', out: text(stdout) }
}
