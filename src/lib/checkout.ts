import { execFile } from 'node:child_process'
import { join } from 'node:path'

/** Milliseconds. */
const GIT_WITHIN = 2000
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
