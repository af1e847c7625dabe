import { LETTER_TEMPLATE, REPORT_TEMPLATE, type PdfJob } from '#src/pdf/index.ts'
import type { Day } from '#src/lib/time.ts'
import type { StoredTemplate } from './repository.ts'

const LISTINGS = ['Bilocale in centro', 'Trilocale al lago', 'Monolocale alla stazione']

/** Invented rows for the built-in report. */
const ROWS = Array.from({ length: 12 }, (_, at) => ({
  listingId: `L${at % 3 + 1}`,
  listingTitle: LISTINGS[at % 3]!,
  firstName: ['Anna', 'Bruno', 'Carla', 'Dario'][at % 4]!,
  lastName: ['Bianchi', 'Neri', 'Verdi', 'Russo'][at % 4]!,
  ...Object.fromEntries([1, 2, 3, 4].flatMap((quarter) => [
    [`Q${quarter}Payouts`, `${900 + at * 137 + quarter * 260}.${10 + at}`],
    [`Q${quarter}Checkins`, 4 + (at + quarter) % 7]
  ]))
}))

/** The job of a preview, with the given data. Else with the template's example, or invented data if it is built in. */
export function previewOf (
  { id, template, esempio }: Pick<StoredTemplate, 'id' | 'template' | 'esempio'>,
  data: Record<string, unknown> | undefined,
  today: Day
): PdfJob {
  const date = Date.parse(`${today}T00:00:00Z`)
  if (id === LETTER_TEMPLATE && data === undefined) {
    const soggiorno = { check_in: today, check_out: today }
    const struttura = { nome: 'Locanda di prova', luogo: 'Como', wifi_rete: 'Ospiti', wifi_password: 'prova' }
    return {
      kind: 'letter', request: { nome_ospite: 'Anna Bianchi', lingua: 'IT', data: today, struttura, soggiorno }, date
    }
  }
  const rows = id === REPORT_TEMPLATE ? data?.rows ?? ROWS : undefined
  if (Array.isArray(rows)) return { kind: 'report', request: { rows, data: today }, date }
  return { kind: 'template', source: template, data: data ?? esempio ?? {}, date }
}
