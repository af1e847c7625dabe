import { createHash } from 'node:crypto'
import { userInfo } from 'node:os'
import { fileURLToPath } from 'node:url'

const project = createHash('sha256').update(import.meta.url).digest('hex').slice(0, 12)

/**
 * Where the run's cluster is noted for the test processes, one file for each user and copy of the project. It is not in
 * the folder for temporary files, because tests have another one.
 */
export const STATE_FILE = fileURLToPath(
  new URL(`../../node_modules/.cache/locanda-test-${userInfo().uid}-${project}.json`, import.meta.url))

export interface State {
  /** The process of the whole run. */
  run: number
  /** The data of its cluster, and where that is reached. */
  dataDir: string
  url: string
  /** The database that is migrated. */
  template: string
  /** The folder for temporary files of groups, where it is not the usual one. */
  temporary?: string | undefined
}
