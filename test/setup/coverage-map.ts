import { sep } from 'node:path'
import gate from '../../.c8rc.json' with { type: 'json' }

/** What tap measures while it runs a test: the files that `npm run coverage` judges. Other areas measure nothing. */
export default function coverageMap (test: string): string[] | null {
  return test.split(sep).includes('alloggiati') ? gate.include : null
}
