import { createRequire } from 'node:module'

interface Manifest { version: string, gitHead?: string }

/**
 * The version of the package, which is also that of the API, and the commit that a build has noted in package.json, if
 * it did.
 */
export const { version: VERSION, gitHead: GIT_HEAD } = createRequire(import.meta.url)('../../package.json') as Manifest
