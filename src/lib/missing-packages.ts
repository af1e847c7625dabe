/** Messages of Node and of native packages about a package that is not installed. */
const MISSING_PACKAGE = /Cannot find (?:package|native binding)/

/** The Italian reason why modules could not be loaded. Undefined for other errors. This file imports no package. */
export function loadingError (err: unknown): string | undefined {
  return err instanceof Error && MISSING_PACKAGE.test(err.message)
    ? 'mancano dei pacchetti: installarli con «npm ci», senza escludere le dipendenze opzionali'
    : undefined
}
