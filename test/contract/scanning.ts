import type { ParseMrzResponse } from '#schemas/scanning.ts'
import { page } from '#test/scanning/ocr/pages.ts'
import { PICTURES } from '#test/fuzz/pictures.ts'
import { anError, anInteger, anyText, exactly, type Wanted } from './exactly.ts'
import type { SharedServer, Prove } from './shared-server.ts'

/** ICAO's specimens: lines and document number of each format. */
const SPECIMENS = {
  TD1: {
    lines: ['I<UTOD231458907<<<<<<<<<<<<<<<', '7408122F1204159UTO<<<<<<<<<<<6', 'ERIKSSON<<ANNA<MARIA<<<<<<<<<<'],
    docNumber: 'D23145890'
  },
  TD2: {
    lines: ['I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<', 'D231458907UTO7408122F1204159<<<<<<<6'],
    docNumber: 'D23145890'
  },
  TD3: {
    lines: ['P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<', 'L898902C36UTO7408122F1204159ZE184226B<<<<<10'],
    docNumber: 'L898902C3'
  }
} as const

/** An MRZ: two lines, or three of thirty characters. */
const isZone = (value: unknown) =>
  Array.isArray(value) && value.every((line) => typeof line === 'string') &&
    (value.length === 3
      ? value.every((line) => line.length === 30)
      : value.length === 2 && value.every((line) => line.length >= 30 && line.length <= 44))
const CHECK = (value: unknown) => value === null || typeof value === 'boolean'

/** Rows about scanning. */
export async function scanningRows ({ key }: SharedServer, prove: Prove): Promise<void> {
  const parse = async (lines: readonly string[]) => await key('POST', '/api/mrz/parse', { lines })
  const parsed = (format: keyof typeof SPECIMENS): Wanted => ({
    format,
    name: 'ANNA MARIA',
    surname: 'ERIKSSON',
    docNumber: SPECIMENS[format].docNumber,
    birthDate: '1974-08-12',
    gender: 'F',
    nationality: 'UTO',
    expiryDate: '2012-04-15',
    issuingCountry: 'UTO',
    valid: true,
    checks: { docNumber: true, birthDate: true, expiryDate: true, optionalData: CHECK, composite: true },
    layout: format,
    documentCode: /^[PI]$/,
    nameTruncated: false,
    nationalityRaw: 'UTO',
    issuingCountryRaw: 'UTO'
  })
  const isThere = (value: unknown) => typeof value === 'object' && value !== null

  await prove('E25', async (t) => {
    const image = PICTURES[1]
    exactly(t, await key('POST', '/api/ocr', { image: `data:image/jpeg;base64,${image}`, solo_mrz: true }), 200, {
      text: '', mrz: isZone, zone: isThere, avvisi: isThere
    })
    exactly(t, await key('POST', '/api/ocr', {}), 400,
      anError(400, /./, { dettagli: [{ campo: 'image', messaggio: /./ }] }))
  })
  // Both rows share one request, because it takes more than a second.
  let read: ReturnType<typeof key> | undefined
  for (const row of ['S1', 'L7'] as const) {
    await prove(row, async (t) => {
      const image = (await page(['Comune di Bergamo', 'Carta di soggiorno'], { dpi: 300 })).toString('base64')
      exactly(t, await (read ??= key('POST', '/api/ocr', { image })), 200, {
        text: /Bergamo[^]*soggiorno/, mrz: null, zone: isThere, avvisi: isThere
      })
    })
  }
  for (const row of ['E26', 'S3'] as const) {
    await prove(row, async (t) => {
      for (const format of ['TD1', 'TD2', 'TD3'] as const) {
        exactly(t, await parse(SPECIMENS[format].lines), 200, {
          parsed: parsed(format), ospite: isThere, avvisi: isThere
        })
      }
    })
  }
  for (const row of ['S2', 'L6'] as const) {
    await prove(row, async (t) => {
      for (const [format, { lines }] of Object.entries(SPECIMENS)) {
        t.equal((await parse(lines)).json<ParseMrzResponse>().parsed.format, format)
        for (const wrong of [lines.map((line) => line.slice(1)), lines.map((line) => `${line}<`)]) {
          t.equal((await parse(wrong)).statusCode, 400)
        }
      }
    })
  }
  await prove('S4', async (t) => {
    const [first, second] = SPECIMENS.TD3.lines
    exactly(t, await parse([first, second.slice(1)]), 400,
      anError(400, /./, { dettagli: [{ campo: 'lines[1]', messaggio: /./ }] }))
    exactly(t, await parse([first, second.replace('L8', 'è8')]), 400,
      anError(400, /./, { dettagli: [{ campo: 'lines[1]', messaggio: /./ }] }))
    exactly(t, await parse([first]), 400, anError(400, /./, { dettagli: [{ campo: 'lines', messaggio: /./ }] }))
  })
  await prove('E27', async (t) => {
    const body = {
      name: 'BIANCA', surname: 'ROSSI', docNum: 'CA00000AA', birthDate: '1964-12-30', gender: 'F', nationality: 'ITA'
    }
    const saved = { success: true, message: /./, id: anInteger, avvisi: isThere }
    exactly(t, await key('POST', '/api/save-scan', body), 200, saved)
    exactly(t, await key('POST', '/api/save-scan', { ...body, expiryDate: '2032-12-30' }), 200, saved)
    for (const campo of Object.keys(body)) {
      exactly(t, await key('POST', '/api/save-scan', { ...body, [campo]: undefined }), 400,
        anError(400, anyText, { dettagli: [{ campo, messaggio: /./ }] }))
    }
  })
}
