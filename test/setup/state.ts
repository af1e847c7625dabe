import { createHash } from 'node:crypto'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

/** Where the run's cluster is noted for the test processes: one place a user and a copy of the project. */
const project = createHash('sha256').update(import.meta.url).digest('hex').slice(0, 12)
export const STATE_FILE = join(tmpdir(), `locanda-test-${userInfo().uid}-${project}.json`)

export interface State { dataDir: string, url: string, template: string }
