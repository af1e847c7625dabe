import type { SaveScanBody, Scan } from '#schemas/scan.ts'
import type { TestApp } from '#test/helper.ts'

export const SCANS = '/api/v1/scansioni'

/** An invented holder. */
export const HOLDER: SaveScanBody = {
  name: 'BIANCA',
  surname: 'PROVETTI',
  docNum: 'CA00000AA',
  birthDate: '1964-12-30',
  gender: 'F',
  nationality: 'ITA',
  expiryDate: '2032-12-30',
  documentCode: 'C',
  issuingCountry: 'ITA'
}

/** Helpers for scans. */
export function scanning ({ app, call }: Pick<TestApp, 'app' | 'call'>) {
  return {
    save: (changes: Record<string, unknown> = {}) => call('POST', '/api/save-scan', { ...HOLDER, ...changes }),

    saved: async (changes: Record<string, unknown> = {}): Promise<number> => {
      const response = await call('POST', '/api/save-scan', { ...HOLDER, ...changes })
      if (response.statusCode !== 200) throw new Error(response.body)
      return response.json<{ id: number }>().id
    },

    show: async (id: number): Promise<Scan | undefined> => {
      const response = await call('GET', `${SCANS}/${id}`)
      return response.statusCode === 404 ? undefined : response.json<{ data: Scan }>().data
    },

    makeGuest: (id: number, body: Record<string, unknown>) => call('POST', `${SCANS}/${id}/ospite`, body),

    /** The names of the stored pictures. */
    pictures: async () => (await app.files.findByPrefix(app.db, 'documents', 'scansioni/')).map(({ name }) => name)
  }
}
