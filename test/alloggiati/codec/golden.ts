import { readFileSync } from 'node:fs'
import type { RecordSchedina } from '#src/alloggiati/codec/layout.ts'

/** A line written by hand from the manual's layout, and its record. */
interface Golden {
  title: string
  line: string
  record: RecordSchedina
  /** The line that `encode` returns, if it differs from `line`. */
  encoded?: string
  /** The names as the guest spells them, if they differ from the record. */
  typed?: { cognome: string, nome: string }
}

const url = new URL('../../../fixtures/alloggiati/records.json', import.meta.url)

export const goldenRecords: readonly Golden[] = JSON.parse(readFileSync(url, 'utf8'))

/** The golden record with this title. */
export function golden (title: string): Golden {
  const found = goldenRecords.find((record) => record.title === title)
  if (!found) throw new Error(`No golden record: ${title}`)
  return found
}
