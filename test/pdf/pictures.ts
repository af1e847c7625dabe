import { readFileSync } from 'node:fs'
import type { PdfJob } from '#src/pdf/pdf-jobs.ts'
import makePdf from '#src/pdf/task.ts'
import { HOUSE as struttura } from '#test/letters/letter-calls.ts'

const LOGO = readFileSync(new URL('logo.png', import.meta.url))

const data = '2026-11-23'
const date = Date.parse(`${data}T00:00:00Z`)
const stay = { data, soggiorno: { check_in: data, check_out: '2026-11-26' }, codice: 'BK-4711' }
const rows = Array.from({ length: 9 }, (_, at) => ({
  listingId: `L${at % 3}`,
  listingTitle: ['Bilocale', 'Trilocale', 'Monolocale'][at % 3]!,
  firstName: 'Anna',
  lastName: `Bianchi ${at}`,
  Q1Payouts: `${900 + at * 137}.10`,
  Q1Checkins: 2,
  Q2Payouts: `${1200 + at * 61}.20`,
  Q2Checkins: 1
}))

/** A sample job for each built-in template. */
export function samples (): Record<string, PdfJob> {
  const logo = { data: new Uint8Array(LOGO), format: 'png' as const }
  const letter = (lingua: string, nome_ospite: string): PdfJob =>
    ({ kind: 'letter', request: { ...stay, struttura, lingua, nome_ospite }, assets: { logo }, date })
  return {
    'letter-it': letter('IT', 'Anna Bianchi'),
    'letter-en': letter('EN', 'Grace Taylor'),
    'letter-de': letter('DE', 'Jürgen Müller'),
    'letter-fr': letter('FR', 'Élodie Lefèvre'),
    'letter-bare': {
      kind: 'letter', request: { data, struttura: {}, lingua: 'IT', nome_ospite: 'Anna Bianchi' }, date
    },
    report: { kind: 'report', request: { rows, data }, date }
  }
}

/** Makes a PDF. @throws Error when the job fails */
export async function make (job: PdfJob): Promise<Uint8Array> {
  const made = await makePdf(job)
  if (made.fault !== null) throw new Error(made.fault.message)
  return made.bytes
}
