import { sampleRows } from '#test/reports/sample.ts'
import type { Client, Surroundings } from './client.ts'

const ROWS = 40

/** Creates, downloads and deletes a financial report. */
export function reports ({ ask, surprise }: Surroundings): Client {
  async function act (): Promise<void> {
    const made = await ask('POST', '/api/generate-template', {
      body: { rows: sampleRows(ROWS) }, headers: { accept: 'application/json' }
    })
    if (!made) return
    const id = made.json<{ transaction_ref: string }>().transaction_ref
    const pdf = await ask('GET', `/api/csv-pdf-download/${id}`)
    if (pdf && pdf.bytes.toString('latin1', 0, 5) !== '%PDF-') surprise('a report is no PDF')
    if (pdf) await ask('DELETE', `/api/v1/pdf/${id}`)
  }
  return { name: 'reports', restMs: 10_000, act }
}
