import { createInterface } from 'node:readline'
import { Writable, type Readable } from 'node:stream'
import { CliError, EXIT } from './errors.ts'

/** All that a command sees of its process and machine: `index.ts` fills it in, and nothing else reads `process`. */
export interface Terminal {
  env: Readonly<Record<string, string | undefined>>
  stdin: Readable & { isTTY?: boolean }
  stdout: Writable & { columns?: number }
  stderr: Writable & { columns?: number }
  /** The user's home folder. */
  home: string
  /** The machine's name: what a key is called by. */
  hostname: string
  /**
   * Ctrl-C calls `leave`, in place of the end that it usually is; a second one is that end.
   * @returns lets go of it
   */
  onInterrupt?: (leave: () => void) => () => void
  /** For tests: milliseconds for a whole exchange with a server, in place of the usual 30 seconds. */
  timeoutMs?: number
}

/**
 * Asks a question of the person at the terminal. Questions go to standard error: standard output carries results alone.
 * @param hidden what is typed is not shown
 * @throws CliError when the person leaves with Ctrl-C or Ctrl-D
 */
export async function ask ({ stdin, stderr }: Terminal, question: string, hidden = false): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({
    input: stdin,
    output: hidden ? nowhere : stderr,
    terminal: true,
    historySize: 0,
    prompt: question
  })
  const answer = new Promise<string>((resolve, reject) => {
    const leave = () => reject(new CliError(EXIT.interrupted, 'INTERROTTO', 'Interrotto'))
    lines.once('line', resolve).once('SIGINT', leave).once('close', leave)
  })
  if (hidden) stderr.write(question)
  lines.prompt()
  let isShown = false
  try {
    const given = await answer
    isShown = !hidden
    return given
  } finally {
    lines.close()
    // Neither a hidden Enter nor an interruption has ended the question's line.
    if (!isShown) stderr.write('\n')
  }
}

/** Whether there is a person to ask. */
export function isInteractive ({ stdin }: Terminal): boolean {
  return stdin.isTTY === true
}

/** A secret: from the environment, from the terminal, or from the first line of standard input. */
export async function secretOf (
  terminal: Terminal, variable: string, question: string
): Promise<{ secret: string, isTyped: boolean }> {
  const given = terminal.env[variable]
  if (given) return { secret: given, isTyped: false }
  const isTyped = isInteractive(terminal)
  return { secret: await (isTyped ? ask(terminal, question, true) : firstLine(terminal)), isTyped }
}

/** Without its end. */
async function firstLine ({ stdin }: Terminal): Promise<string> {
  let given = ''
  for await (const chunk of stdin.setEncoding('utf8')) {
    given += chunk
    if (given.includes('\n')) break
  }
  return given.split(/\r?\n/, 1)[0] ?? ''
}
