import { homedir, hostname } from 'node:os'
import { loadingError } from '#src/lib/missing-packages.ts'

// The reader of the output may stop before the end, as `head` does.
process.stdout.on('error', (err: NodeJS.ErrnoException) => { if (err.code !== 'EPIPE') throw err })

const { env, stdin, stdout, stderr } = process
// Not `process.exit`: what is still on its way to a pipe would be lost.
process.exitCode = await import('./run.ts').then(
  ({ run }) => run(process.argv.slice(2), { env, stdin, stdout, stderr, home: homedir(), hostname: hostname() }),
  (err: unknown) => {
    const reason = loadingError(err)
    if (reason === undefined) throw err
    stderr.write(`Errore: ${reason}\n`)
    return 1
  }
)
