import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { checkedOutCommit, commitOf, taggedVersion } from './checkout.ts'

interface Manifest { version: string, gitHead?: string }

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
