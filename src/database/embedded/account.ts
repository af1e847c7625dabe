import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lchown, readdir, readFile, stat } from 'node:fs/promises'
import { platform, userInfo } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { EmbeddedError } from './embedded-error.ts'

/** An operating-system user for a child process. Undefined means the user of this process. */
export type Account = { uid: number, gid: number } | undefined

/** Child processes inherit the environment only on Windows, because `PG*`, `LC_*` and `TZ` would change the cluster. */
export const CHILD_ENV = platform() === 'win32' ? undefined : { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' }

/** The current folder as an argument. Its absolute path may contain a folder that the account cannot enter. */
export const HERE = platform() === 'linux' ? '/proc/self/cwd' : '.'

/**
 * The user that PostgreSQL runs as. PostgreSQL refuses root, so for root it is the owner of the data folder, else
 * `postgres` or `nobody`, because initdb needs a user with a name.
 * @throws EmbeddedError when the folder belongs to another user, or root finds no such user
 */
export async function chooseAccount (folder: string): Promise<Account> {
  if (platform() === 'win32') return undefined
  // In a container, the user database may have no entry for the user of this process.
  const { uid: own } = platform() === 'linux' ? await stat('/proc/self') : userInfo()
  const owner = await stat(folder).catch(() => undefined)
  if (own !== 0) {
    if (!owner || owner.uid === own) return undefined
    throw new EmbeddedError(`la cartella ${folder} è dell’utente ${owner.uid}, il server gira come utente ${own}`)
  }
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const users = await readFile('/etc/passwd', 'utf8')
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+)/m.exec(users) ?? /^nobody:[^:]*:(\d+):(\d+)/m.exec(users) ?? []
  if (Number(uid) > 0) return { uid: Number(uid), gid: Number(gid) }
  throw new EmbeddedError('non gira come root e manca un utente fra postgres, nobody: ' +
    'avviare il server come utente ordinario o indicare DATABASE_URL')
}

/**
 * Changes the owner of a folder and its content. The folder itself is changed last, so that the next start repeats an
 * interrupted change.
 */
export async function changeOwner (folder: string, account: Account): Promise<void> {
  if (!account) return
  const names = await readdir(folder, { recursive: true })
  for (const path of [...names.map((name) => join(folder, name)), folder]) await lchown(path, account.uid, account.gid)
}

/**
 * Runs a program and returns its stdout. It enters `cwd` before it changes the user. Ctrl-C does not stop the program.
 * @throws EmbeddedError with the stderr of the program, or when the program cannot be started
 */
export async function run (command: string, args: readonly string[], account: Account, cwd = '/'): Promise<string> {
  const child = spawn(command, args, {
    ...account, cwd, env: CHILD_ENV, detached: true, windowsHide: true, stdio: ['ignore', 'pipe', 'pipe']
  })
  const written = Promise.all([text(child.stdout), text(child.stderr)]).catch(() => ['', ''])
  const [code, signal] = await once(child, 'exit')
    .catch((err: Error) => { throw new EmbeddedError(err.message, { cause: err }) })
  // On Windows `pg_ctl` starts the postmaster with these pipes, and they stay open.
  const [output = '', errors = ''] = await Promise.race([written, sleep(1000, [], { ref: false })])
  if (code === 0) return output
  throw new EmbeddedError(errors.trim().replaceAll(/\s*\n\s*/g, ' · ') || `${command}: ${String(signal ?? code)}`)
}
