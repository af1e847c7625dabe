/** The exit codes of the process. 0 means success. */
export const EXIT = {
  ok: 0,
  /** The server refused the request, or an error occurred. */
  failed: 1,
  usage: 2,
  /** Not signed in, or the credentials were rejected. */
  credentials: 3,
  unreachable: 4,
  /** The validated records have errors. */
  invalid: 5,
  /** The exit code that shells use for a process that Ctrl-C ended. */
  interrupted: 130
} as const
export type Exit = typeof EXIT[keyof typeof EXIT]

/** A failure reported in one line: the exit code, a stable code for programs, an Italian text for users. */
export class CliError extends Error {
  readonly exit: Exit
  readonly codice: string
  /** The server's own error, if it sent one. */
  readonly risposta: object | undefined
  constructor (exit: Exit, codice: string, message: string, risposta?: object) {
    super(message)
    this.name = 'CliError'
    this.exit = exit
    this.codice = codice
    this.risposta = risposta
  }
}

/** The command line is invalid. */
export const usageError = (message: string) => new CliError(EXIT.usage, 'USO_NON_VALIDO', message)

/** A setting of this computer, or of the server, is invalid. */
export const configError = (message: string) => new CliError(EXIT.failed, 'CONFIGURAZIONE', message)

/** No usable key exists, or the server rejects it. The user has to sign in. */
export const notSignedIn = (reason: string, risposta?: object) =>
  new CliError(EXIT.credentials, 'NON_AUTENTICATO', `${reason}: eseguire «locanda login»`, risposta)
