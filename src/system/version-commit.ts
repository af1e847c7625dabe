import { execFile } from 'node:child_process'
import { join } from 'node:path'

/** Milliseconds. */
const GIT_WITHIN = 2000
const COMMIT = /^[\da-f]{40}(?:[\da-f]{24})?$/

/**
 * The commit that a folder's own repository has checked out; empty where there is none, or no git. The repository is
 * named outright: neither one that the folder merely lies in nor one that the environment names is asked.
 * @throws when git takes too long
 */
export function checkedOutCommit (folder: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      'git',
      ['--git-dir', join(folder, '.git'), 'rev-parse', '--verify', 'HEAD'],
      { cwd: folder, timeout: GIT_WITHIN, maxBuffer: 4096, windowsHide: true },
      (err, stdout) => err?.killed === true ? reject(err) : resolve(err ? '' : commitOf(stdout))
    )
  })
}

/** The text where it is the hash of a commit, else the empty text. */
export function commitOf (text: string): string {
  return COMMIT.test(text.trim()) ? text.trim() : ''
}
