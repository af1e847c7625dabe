import { fileURLToPath } from 'node:url'

/**
 * Where the processes of the tests keep compiled code, in `NODE_COMPILE_CACHE` or otherwise, as `npm start` does: a
 * server starts in 1.2 s of processor time in place of 1.8 (Node 24.21).
 */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/locanda-test', import.meta.url))

/** For Node, where a test's own program imports the server: it loads as fast as the server itself. */
export const LOAD_FAST = `--import=${new URL('preload.ts', import.meta.url).href}`
