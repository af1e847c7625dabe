import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { build, temporaryFolder } from '#test/helper.ts'
import { sampleRows } from './sample.ts'

/* What other programs find in our PDFs. */

const has = (program: string) => spawnSync(program, ['--version']).error === undefined

const { call } = await build(t, { TODAY: '2026-11-23' })
const folder = temporaryFolder(t)
const files: Record<string, string> = {}
for (const count of [5, 400]) {
  const answer = await call('POST', '/api/generate-template', { rows: sampleRows(count) })
  files[count] = join(folder, `${count}.pdf`)
  writeFileSync(files[count], answer.rawPayload)
}
const letter = await call('POST', '/api/v1/templates/b7c41f0a92d85e36/preview', {})
files.letter = join(folder, 'letter.pdf')
writeFileSync(files.letter, letter.rawPayload)

t.test('qpdf finds nothing wrong', { skip: !has('qpdf') && 'qpdf is not installed' }, async (t) => {
  for (const [name, file] of Object.entries(files)) {
    const { status, stdout, stderr } = spawnSync('qpdf', ['--check', file], { encoding: 'utf8' })
    t.equal(status, 0, `${name}: ${stdout}${stderr}`)
  }
})

t.test('pdftotext reads totals and names', { skip: !has('pdftotext') && 'pdftotext is not installed' }, async (t) => {
  const text = (file: string) => execFileSync('pdftotext', ['-layout', file, '-'], { encoding: 'utf8' })
  t.match(text(files[5]!), /Totale incassi[\s\S]*11,50 €/)
  const long = text(files[400]!)
  t.match(long, /Bianchi 399/)
  // 0 + 1 + … + 399 euros, and thirty cents a row.
  t.match(long, /79\.920,00 €/)
  t.match(text(files.letter!), /Benvenuti, Anna Bianchi!/)
})
