import { homedir, hostname } from 'node:os'
import { loadingError } from '#src/lib/missing-packages.ts'
import { speedUpLoading } from '#src/loading.ts'

// A reader such as `head` may close the pipe early.
process.stdout.on('error', (err: NodeJS.ErrnoException) => { if (err.code !== 'EPIPE') throw err })

/** A signal of the service manager has the same effect as Ctrl-C. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

function onInterrupt (leave: () => void): () => void {
  for (const signal of SIGNALS) process.once(signal, leave)
  return () => { for (const signal of SIGNALS) process.removeListener(signal, leave) }
}

const { env, stdin, stdout, stderr } = process
const terminal = { env, stdin, stdout, stderr, home: homedir(), hostname: hostname(), onInterrupt }
// Some commands load the same code as the server.
speedUpLoading()
// Not `process.exit`, which would lose output that a pipe has not received yet.
process.exitCode = await import('./run-command.ts').then(
  ({ run }) => run(process.argv.slice(2), terminal),
  (err: unknown) => {
    const reason = loadingError(err)
    if (reason === undefined) throw err
    stderr.write(`Errore: ${reason}\n`)
    return 1
  }
)
