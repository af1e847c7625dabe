import { homedir, hostname } from 'node:os'
import { loadingError } from '#src/lib/missing-packages.ts'
import { speedUpLoading } from '#src/loading.ts'

// The reader of the output may close the pipe early, as `head` does.
process.stdout.on('error', (err: NodeJS.ErrnoException) => { if (err.code !== 'EPIPE') throw err })

/** A service manager's signal is handled like Ctrl-C. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

function onInterrupt (leave: () => void): () => void {
  for (const signal of SIGNALS) process.once(signal, leave)
  return () => { for (const signal of SIGNALS) process.removeListener(signal, leave) }
}

const { env, stdin, stdout, stderr } = process
const terminal = { env, stdin, stdout, stderr, home: homedir(), hostname: hostname(), onInterrupt }
// Some commands load as much code as the server does.
speedUpLoading()
// Not `process.exit`, which would lose output still on its way to a pipe.
process.exitCode = await import('./run-command.ts').then(
  ({ run }) => run(process.argv.slice(2), terminal),
  (err: unknown) => {
    const reason = loadingError(err)
    if (reason === undefined) throw err
    stderr.write(`Errore: ${reason}\n`)
    return 1
  }
)
