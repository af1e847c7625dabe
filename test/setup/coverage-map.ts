import { sep } from 'node:path'
import gate from '../../.c8rc.json' with { type: 'json' }

/** Areas whose tests do not reach what `npm run coverage` judges: measuring them would only cost time. */
const UNMEASURED = ['identity', 'cli', 'lib', 'config', 'crash', 'rules']

/** What tap measures while it runs a test: the files that `npm run coverage` judges. */
export default function coverageMap (test: string): string[] | null {
  const folders = test.split(sep)
  return folders.includes('alloggiati') || !UNMEASURED.some((area) => folders.includes(area)) ? gate.include : null
}
