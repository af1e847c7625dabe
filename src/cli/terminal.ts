import { createInterface } from 'node:readline'
import { Writable, type Readable } from 'node:stream'
import { CliError, EXIT, usageError } from './errors.ts'

/** A command's view of its process and machine. Only `index.ts` reads `process`, and fills this in. */
export interface Terminal {
  env: Readonly<Record<string, string | undefined>>
  stdin: Readable & { isTTY?: boolean }
  stdout: Writable & { columns?: number }
  stderr: Writable & { columns?: number }
  /** The user's home folder. */
  home: string
  /** The name of the machine, which becomes the name of its keys. */
  hostname: string
  /**
   * The first Ctrl-C calls `leave`, and the second one ends the process.
   * @returns a function that removes the handler
   */
  onInterrupt?: (leave: () => void) => () => void
  /** For tests: timeout of a request to a server, in milliseconds. The default is 30 seconds. */
  timeoutMs?: number
}

/**
 * Asks the person at the terminal. Questions go to standard error, because standard output has only results.
 * @param hidden does not echo the input
 * @throws CliError when the person cancels with Ctrl-C or Ctrl-D
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
  const response = new Promise<string>((resolve, reject) => {
    const leave = () => reject(new CliError(EXIT.interrupted, 'INTERROTTO', 'Interrotto'))
    lines.once('line', resolve).once('SIGINT', leave).once('close', leave)
  })
  if (hidden) stderr.write(question)
  lines.prompt()
  try {
    return await response
  } finally {
    lines.close()
    // Hidden input does not echo Enter, so the line of the question is still open.
    if (hidden) stderr.write('\n')
  }
}

/** Whether a person can answer at the terminal. */
export function isInteractive ({ stdin }: Terminal): boolean {
  return stdin.isTTY === true
}

/**
 * Reads a secret: from the environment, from the terminal, or from the first line of standard input.
 * @param question the question without its colon
 * @throws CliError without a secret
 */
export async function secretOf (terminal: Terminal, variable: string, question: string): Promise<string> {
  const given = terminal.env[variable] ||
    await (isInteractive(terminal) ? ask(terminal, `${question}: `, true) : firstLine(terminal))
  if (given === '') throw usageError(`${question}: manca (${variable})`)
  return given
}

/** Reads a new secret. A person types it twice, because a typing error would lock the person out. */
export async function newSecret (terminal: Terminal, variable: string, question: string): Promise<string> {
  const secret = await secretOf(terminal, variable, question)
  const isTyped = !terminal.env[variable] && isInteractive(terminal)
  if (isTyped && await ask(terminal, 'Ancora una volta: ', true) !== secret) {
    throw usageError(`${question}: i due testi non sono uguali`)
  }
  return secret
}

/** Reads the first line, without the line break. */
async function firstLine ({ stdin }: Terminal): Promise<string> {
  const lines = createInterface({ input: stdin })
  const { value = '' } = await lines[Symbol.asyncIterator]().next()
  lines.close()
  return value
}
