import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import type { PdfJob } from '#src/pdf/pdf-jobs.ts'
import { make, samples } from './pictures.ts'

/*
 * Redraws the pictures of README.md, `fixtures/letter.png` and `fixtures/report.png`, after an intended change of the
 * built-in templates. Needs pdftoppm.
 */

const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url))
const LISTINGS = [
  'Bilocale in centro', 'Trilocale al lago', 'Monolocale alla stazione', 'Attico panoramico', 'Casa dei limoni'
]
const QUARTERS = [1, 2, 3, 4]

/** A report of one year with several rows per listing. */
const report: PdfJob = {
  kind: 'report',
  request: {
    rows: Array.from({ length: 23 }, (_, at) => ({
      listingTitle: LISTINGS[at % LISTINGS.length]!,
      lastName: `Bianchi ${at + 1}`,
      ...Object.fromEntries(QUARTERS.flatMap((quarter) => [
        [`Q${quarter}Payouts`, `${1500 + (at * 137 + quarter * 211) % 900}.${10 + at}`],
        [`Q${quarter}Checkins`, 5 + (at + quarter * 2) % 5]
      ]))
    })),
    struttura: 'Locanda di prova',
    data: '2026-11-23'
  },
  date: Date.parse('2026-11-23T00:00:00Z')
}

const folder = mkdtempSync(join(tmpdir(), 'locanda-pictures-'))
try {
  const { 'letter-it': letter } = samples()
  for (const [name, job, dots] of [['letter', letter!, '80'], ['report', report, '84']] as const) {
    const file = join(folder, `${name}.pdf`)
    writeFileSync(file, await make(job))
    const asked = ['-r', dots, '-png', '-f', '1', '-l', '1', '-singlefile']
    execFileSync('pdftoppm', [...asked, file, join(folder, name)])
    const picture = sharp(join(folder, `${name}.png`)).png({ palette: true, colours: 64, effort: 10 })
    await picture.toFile(join(FIXTURES, `${name}.png`))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
