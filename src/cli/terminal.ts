import { createInterface } from 'node:readline'
import { Writable, type Readable } from 'node:stream'
import { CliError, EXIT, usageError } from './errors.ts'

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
  try {
    return await answer
  } finally {
    lines.close()
    // A hidden Enter has not ended the question's line.
    if (hidden) stderr.write('\n')
  }
}

/** Whether there is a person to ask. */
export function isInteractive ({ stdin }: Terminal): boolean {
  return stdin.isTTY === true
}

/**
 * A secret: from the environment, from the terminal, or from the first line of standard input.
 * @param question what is asked for, without the colon
 * @throws CliError where none is given
 */
export async function secretOf (terminal: Terminal, variable: string, question: string): Promise<string> {
  const given = terminal.env[variable] ||
    await (isInteractive(terminal) ? ask(terminal, `${question}: `, true) : firstLine(terminal))
  if (given === '') throw usageError(`${question}: manca (${variable})`)
  return given
}

/** A secret that is new: at the terminal it is typed twice, as a slip would lock its person out. */
export async function newSecret (terminal: Terminal, variable: string, question: string): Promise<string> {
  const secret = await secretOf(terminal, variable, question)
  const isTyped = !terminal.env[variable] && isInteractive(terminal)
  if (isTyped && await ask(terminal, 'Ancora una volta: ', true) !== secret) {
    throw usageError(`${question}: le due volte non sono uguali`)
  }
  return secret
}

/** Without its end. */
async function firstLine ({ stdin }: Terminal): Promise<string> {
  const lines = createInterface({ input: stdin })
  const { value = '' } = await lines[Symbol.asyncIterator]().next()
  lines.close()
  return value
}
