import { chmod, mkdir, readFile, stat } from 'node:fs/promises'
import { platform } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { writeAtomically } from '#src/lib/write-atomically.ts'
import { configError } from './errors.ts'
import { fieldsOf } from './server-call.ts'
import type { Terminal } from './terminal.ts'

/** The user's key, and the server that issued it. */
export interface StoredKey {
  url: string
  id: string
  key: string
  /** An instant in ISO 8601. */
  expires_at: string
}

/** The file of the key. A relative `XDG_CONFIG_HOME` is ignored, as the XDG specification requires. */
export function keyFile (terminal: Terminal): string {
  return join(folder(terminal), 'config.json')
}

/**
 * The stored key, and whether other users can read its file. Undefined without a file.
 * @throws CliError when the file cannot be used
 */
export async function readKey (terminal: Terminal): Promise<{ stored: StoredKey, exposed: boolean } | undefined> {
  const file = keyFile(terminal)
  try {
    const stored: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (!isStoredKey(stored)) throw new SyntaxError()
    const exposed = platform() !== 'win32' && ((await stat(file)).mode & 0o077) !== 0
    return { stored, exposed }
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    // The message omits the parser's error, which would quote the content.
    throw configError(
      `Il file ${file} non è utilizzabile (${code ?? 'contenuto non valido'}): ` +
        'correggerlo, o eliminarlo ed eseguire «locanda login»'
    )
  }
}

/** Writes the file atomically. Only the user can read it. */
export async function writeKey (terminal: Terminal, stored: StoredKey): Promise<void> {
  const file = keyFile(terminal)
  try {
    await mkdir(folder(terminal), { recursive: true, mode: 0o700 })
    // `mkdir` does not change the mode of an existing folder.
    await chmod(folder(terminal), 0o700)
    await writeAtomically(file, `${JSON.stringify(stored, null, 2)}\n`)
  } catch (err) {
    throw configError(`Impossibile scrivere ${file} (${(err as NodeJS.ErrnoException).code ?? 'errore'})`)
  }
}

/** Whether the value is allowed in a header. For other values, the error of `fetch` would contain the key. */
export function isKey (value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)
}

function folder ({ env, home }: Terminal): string {
  const configured = env.XDG_CONFIG_HOME ?? ''
  return join(isAbsolute(configured) ? configured : join(home, '.config'), 'locanda')
}

function isStoredKey (value: unknown): value is StoredKey {
  const { url, id, key, expires_at } = fieldsOf(value) ?? {}
  return typeof url === 'string' && URL.canParse(url) && isKey(key) &&
    typeof id === 'string' && typeof expires_at === 'string'
}
