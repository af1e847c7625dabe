/** What the process ends with. 0 is success. */
export const EXIT = {
  ok: 0,
  /** The server refused, or something failed. */
  failed: 1,
  usage: 2,
  /** Not signed in, or the credentials were refused. */
  credentials: 3,
  unreachable: 4,
  /** The records that were checked have errors. */
  invalid: 5,
  /** As a shell writes a process that Ctrl-C ended. */
  interrupted: 130
} as const
export type Exit = typeof EXIT[keyof typeof EXIT]

/** An end that is told in one line: the exit code, a stable code for programs, an Italian text for people. */
export class CliError extends Error {
  readonly exit: Exit
  readonly codice: string
  /** The server's own words, where it had any. */
  readonly risposta: object | undefined
  constructor (exit: Exit, codice: string, message: string, risposta?: object) {
    super(message)
    this.name = 'CliError'
    this.exit = exit
    this.codice = codice
    this.risposta = risposta
  }
}

/** The command line itself is wrong. */
export const usageError = (message: string) => new CliError(EXIT.usage, 'USO_NON_VALIDO', message)

/** A setting of this computer, or of the server, cannot be used. */
export const configError = (message: string) => new CliError(EXIT.failed, 'CONFIGURAZIONE', message)

/** There is no key that could be used, or the server does not take it: signing in helps. */
export const notSignedIn = (reason: string, risposta?: object) =>
  new CliError(EXIT.credentials, 'NON_AUTENTICATO', `${reason}: eseguire «locanda login»`, risposta)
