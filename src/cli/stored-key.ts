import { chmod, mkdir, readFile, rm, stat } from 'node:fs/promises'
import { platform } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { writeWhole } from '#src/lib/whole-file.ts'
import { CliError, EXIT } from './errors.ts'
import type { Terminal } from './terminal.ts'

/** The user's key, and the one server that it is for. */
export interface StoredKey {
  url: string
  id: string
  key: string
  /** ISO 8601. */
  expires_at: string
}

/** What a header can carry: anything else would end in an error that repeats it. */
const KEY = /^[\x21-\x7e]+$/

type Place = Pick<Terminal, 'env' | 'home'>

/** The file that holds the key. A relative `XDG_CONFIG_HOME` does not count: the XDG specification wants it so. */
export function keyFile (place: Place): string {
  return join(folder(place), 'config.json')
}

/**
 * The stored key; undefined when there is none.
 * @returns also whether others than the user can read the file
 * @throws CliError when the file is there and cannot be used
 */
export async function readKey (place: Place): Promise<{ stored: StoredKey, exposed: boolean } | undefined> {
  const file = keyFile(place)
  try {
    const stored: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (!isStoredKey(stored)) throw new SyntaxError()
    const exposed = platform() !== 'win32' && ((await stat(file)).mode & 0o077) !== 0
    return { stored, exposed }
  } catch (err) {
    const code = codeOf(err)
    if (code === 'ENOENT') return undefined
    // A parser's message would quote the content.
    throw failure(
      `Il file ${file} non è utilizzabile (${code ?? 'contenuto non valido'}): ` +
        'correggerlo, o eliminarlo ed eseguire «locanda login»'
    )
  }
}

/** Writes the file whole or not at all, readable by the user alone. */
export async function writeKey (place: Place, stored: StoredKey): Promise<void> {
  const file = keyFile(place)
  try {
    await mkdir(folder(place), { recursive: true, mode: 0o700 })
    // A folder that was there before keeps its mode otherwise.
    await chmod(folder(place), 0o700)
    await writeWhole(file, `${JSON.stringify(stored, null, 2)}\n`)
  } catch (err) {
    throw failure(`Impossibile scrivere ${file} (${codeOf(err) ?? 'errore'})`)
  }
}

export async function forgetKey (place: Place): Promise<void> {
  try {
    await rm(keyFile(place), { force: true })
  } catch (err) {
    throw failure(`Impossibile eliminare ${keyFile(place)} (${codeOf(err) ?? 'errore'})`)
  }
}

/** True for a key that a header can carry. */
export function isKey (value: unknown): value is string {
  return typeof value === 'string' && KEY.test(value)
}

function folder ({ env, home }: Place): string {
  const configured = env.XDG_CONFIG_HOME ?? ''
  return join(isAbsolute(configured) ? configured : join(home, '.config'), 'locanda')
}

function isStoredKey (value: unknown): value is StoredKey {
  if (typeof value !== 'object' || value === null) return false
  const { url, id, key, expires_at } = value as Partial<Record<keyof StoredKey, unknown>>
  return (
    typeof url === 'string' &&
    URL.canParse(url) &&
    typeof id === 'string' &&
    isKey(key) &&
    typeof expires_at === 'string'
  )
}

function codeOf (err: unknown): string | undefined {
  return err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : undefined
}

function failure (message: string): CliError {
  return new CliError(EXIT.failed, 'CONFIGURAZIONE', message)
}
