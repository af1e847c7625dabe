import process from 'node:process'
import gate from '../../.c8rc.json' with { type: 'json' }

/** What tap measures: nothing, but in a run of `npm run coverage`, which measures the files that it judges. */
export default function coverageMap (): string[] | null {
  return process.env.COVERAGE === '1' ? gate.include : null
}
