import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Manifest { version: string, gitHead?: string }

/** Timeout of git in milliseconds. */
const GIT_WITHIN = 2000
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))

/** The version of the package and the API, and the commit if a build has written it into package.json. */
export const { version: VERSION, gitHead: GIT_HEAD } = createRequire(import.meta.url)('../../package.json') as Manifest

/** The running version. */
export interface Running {
  version: string
  /** The full hash. Empty if it is unknown. */
  commit: string
}

/**
 * The version recorded by the build, else by git. Git runs on demand, so that it delays no start.
 * @throws if git takes too long
 */
export async function runningVersion (): Promise<Running> {
  if (GIT_HEAD !== undefined) return { version: VERSION, commit: commitOf(GIT_HEAD) }
  const [version = VERSION, commit] = await Promise.all([taggedVersion(PACKAGE), checkedOutCommit(PACKAGE)])
  return { version, commit }
}

const COMMIT = /^[\da-f]{40}(?:[\da-f]{24})?$/
/** The output of `git describe --long`: version tag, number of commits since, and abbreviated commit. */
const DESCRIBED = /^v(\d+\.\d+\.\d+(?:-[\w.]+)?)-(\d+)-(g[\da-f]+)$/

/**
 * The checked-out commit of the repository in a folder. Empty without repository or git.
 * @throws if git takes too long
 */
export async function checkedOutCommit (folder: string): Promise<string> {
  return commitOf(await git(folder, ['rev-parse', '--verify', 'HEAD']))
}

/**
 * The version after the last tag `v1.2.3` of the repository in a folder: `1.2.3` at the tag, `1.2.3+4.g0123abc` four
 * commits later. Undefined without such a tag, repository or git.
 * @throws if git takes too long
 */
export async function taggedVersion (folder: string): Promise<string | undefined> {
  return versionOf(await git(folder, ['describe', '--tags', '--long', '--match', 'v[0-9]*']))
}

/** Parses the version from the output of `git describe --long`. */
export function versionOf (described: string): string | undefined {
  const [, version, since, commit] = DESCRIBED.exec(described.trim()) ?? []
  return since === '0' || version === undefined ? version : `${version}+${since}.${commit}`
}

/** The text if it is a commit hash, else an empty string. */
function commitOf (text: string): string {
  return COMMIT.test(text.trim()) ? text.trim() : ''
}

/** Names the repository, so that git ignores the repositories of parent folders and of the environment. */
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
