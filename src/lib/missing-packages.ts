/** What Node and the packages with parts in machine language say of a package that is not installed. */
const MISSING_PACKAGE = /Cannot find (?:package|native binding)/

/** Why modules could not be loaded, Italian; undefined: that is not the matter. It needs no package itself. */
export function loadingError (err: unknown): string | undefined {
  return err instanceof Error && MISSING_PACKAGE.test(err.message)
    ? 'mancano dei pacchetti: installarli con «npm ci», senza escludere le dipendenze opzionali'
    : undefined
}
