import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { run as runHere } from '#src/cli/run-command.ts'
import { temporaryFolder } from '#test/helper.ts'
import { COMPILE_CACHE } from '#test/setup/processes.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/index.ts', import.meta.url))

interface Ended { code: number | null, stdout: string, stderr: string }

export interface Setting {
  env?: Record<string, string>
  /** The complete standard input. */
  input?: string
}

/** A user with a separate home folder. */
export interface User {
  /** Runs the real program with these arguments. Returns the exit code and all output. */
  run (args: readonly string[], setting?: Setting): Promise<Ended>
  /** Runs the program inside the test process, which is faster for many similar cases. */
  act (args: readonly string[], setting?: Setting): Promise<Ended>
  /** The path of the file with the key. */
  file: string
  /** The file's content, parsed. */
  kept (): Record<string, unknown>
  /** Stores a key in the file. */
  keep (key: { url: string, key: string, id?: string, expires_at?: string }): void
}

export function user (t: Test): User {
  const home = temporaryFolder(t)
  const folder = join(home, '.config', 'locanda')
  const file = join(folder, 'config.json')
  return {
    file,
    kept: () => JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>,
    keep (key) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(file, JSON.stringify({ id: '0123456789abcdef', expires_at: '2099-01-01T00:00:00.000Z', ...key }), {
        mode: 0o600
      })
    },
    async act (args, { env = {}, input = '' } = {}) {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()]
      const code = runHere(args, {
        env,
        stdin: Readable.from([Buffer.from(input)]),
        stdout,
        stderr,
        home,
        hostname: hostname()
      }).finally(() => {
        stdout.end()
        stderr.end()
      })
      const [out, err] = await Promise.all([text(stdout), text(stderr)])
      return { code: await code, stdout: out, stderr: err }
    },
    async run (args, { env = {}, input = '' } = {}) {
      const child = spawn(process.execPath, [PROGRAM, ...args], {
        env: { PATH: process.env.PATH, HOME: home, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env }
      })
      // A program that does not read its input may end before all of it is written.
      child.stdin.on('error', () => {}).end(input)
      const code = new Promise<number | null>((resolve) => { child.once('close', resolve) })
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
      return { code: await code, stdout, stderr }
    }
  }
}

/** The error in the standard error output of a run with `--json`. Fails when there are several. */
export function errorOf ({ stderr }: Ended): Record<string, unknown> {
  return (JSON.parse(stderr) as { error: Record<string, unknown> }).error
}
