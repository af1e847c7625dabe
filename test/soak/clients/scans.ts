import { readFileSync } from 'node:fs'
import { HOLDER } from '#test/scans/scanning.ts'
import type { Client, Surroundings } from './client.ts'

const SPECIMEN = new URL('../../../fixtures/mrz/specimen.jpg', import.meta.url)

/** Reads the zone of a document image, and saves and deletes a scan. */
export function scans ({ ask, surprise }: Surroundings): Client {
  const image = readFileSync(SPECIMEN).toString('base64')

  async function act (): Promise<void> {
    const found = await ask('POST', '/api/ocr', { body: { image, solo_mrz: true } })
    if (found && found.json<{ mrz: string[] | null }>().mrz === null) surprise('the zone of a picture is not seen')
    const saved = await ask('POST', '/api/save-scan', { body: HOLDER })
    if (!saved) return
    const path = `/api/v1/scansioni/${saved.json<{ id: number }>().id}`
    await ask('GET', path)
    await ask('DELETE', path)
  }
  return { name: 'scans', restMs: 20_000, act }
}
