import { createRequire } from 'node:module'

/** The version of the package, which is also that of the API. */
export const { version: VERSION } = createRequire(import.meta.url)('../../package.json') as { version: string }
