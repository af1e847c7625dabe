import { execFile } from 'node:child_process'
import { platform } from 'node:os'
import { promisify } from 'node:util'
import type { Account } from './account.ts'
import { EmbeddedError } from './problems.ts'

const execute = promisify(execFile)

/**
 * Nothing of our own environment: `PG*`, locale and time-zone variables would leak into the cluster. Windows needs its
 * own.
 */
export const CHILD_ENV: Readonly<Record<string, string>> | undefined = platform() === 'win32'
  ? undefined
  : { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' }

/**
 * Runs a program to its end and returns what it wrote to stdout. The working folder is entered before the user changes,
 * so it may lie where that user could not go by name.
 * @throws EmbeddedError with the program's last line
 */
export async function run (
  command: string,
  args: readonly string[],
  as: { account: Account | undefined; cwd: string }
): Promise<string> {
  try {
    const { stdout } = await execute(command, args, { cwd: as.cwd, env: CHILD_ENV, windowsHide: true, ...as.account })
    return stdout
  } catch (err) {
    const stderr = err instanceof Error && 'stderr' in err ? String(err.stderr).trim() : ''
    const reason = stderr === '' && err instanceof Error ? err.message : stderr
    throw new EmbeddedError(reason.replaceAll(/\s*\n\s*/g, ' · '), { cause: err })
  }
}
