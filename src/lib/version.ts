import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Manifest { version: string, gitHead?: string }

/** Milliseconds. */
const GIT_WITHIN = 2000
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))

/**
 * The version of the package, which is also that of the API, and the commit that a build has noted in package.json, if
 * it did.
 */
export const { version: VERSION, gitHead: GIT_HEAD } = createRequire(import.meta.url)('../../package.json') as Manifest

/** What runs here. */
export interface Running {
  version: string
  /** The whole hash; empty where nobody knows it. */
  commit: string
}

/**
 * What a build has noted counts; else git is asked, when somebody wants to know: no start waits for it.
 * @throws when git takes too long
 */
export async function runningVersion (): Promise<Running> {
  if (GIT_HEAD !== undefined) return { version: VERSION, commit: commitOf(GIT_HEAD) }
  const [version = VERSION, commit] = await Promise.all([taggedVersion(PACKAGE), checkedOutCommit(PACKAGE)])
  return { version, commit }
}

const COMMIT = /^[\da-f]{40}(?:[\da-f]{24})?$/
/** What `git describe --long` says: the tag of a version, how many commits came since, and the last of them. */
const DESCRIBED = /^v(\d+\.\d+\.\d+(?:-[\w.]+)?)-(\d+)-(g[\da-f]+)$/

/**
 * The commit that a folder's own repository has checked out; empty where there is none, or no git.
 * @throws when git takes too long
 */
export async function checkedOutCommit (folder: string): Promise<string> {
  return commitOf(await git(folder, ['rev-parse', '--verify', 'HEAD']))
}

/**
 * The version by the last tag `v1.2.3` of a folder's own repository: `1.2.3` at the tag itself, `1.2.3+4.g0123abc` four
 * commits later; undefined where no tag of a version, no repository or no git is there.
 * @throws when git takes too long
 */
export async function taggedVersion (folder: string): Promise<string | undefined> {
  return versionOf(await git(folder, ['describe', '--tags', '--long', '--match', 'v[0-9]*']))
}

/** The version in what `git describe --long` says. */
export function versionOf (described: string): string | undefined {
  const [, version, since, commit] = DESCRIBED.exec(described.trim()) ?? []
  return since === '0' || version === undefined ? version : `${version}+${since}.${commit}`
}

/** The text where it is the hash of a commit, else the empty text. */
export function commitOf (text: string): string {
  return COMMIT.test(text.trim()) ? text.trim() : ''
}

/**
 * The repository is named outright: neither one that the folder merely lies in nor one that the environment names is
 * asked.
 */
function git (folder: string, command: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      'git',
      ['--git-dir', join(folder, '.git'), ...command],
      { cwd: folder, timeout: GIT_WITHIN, maxBuffer: 4096, windowsHide: true },
      (err, stdout) => err?.killed === true ? reject(err) : resolve(err ? '' : stdout)
    )
  })
}
