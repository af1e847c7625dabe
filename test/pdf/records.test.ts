import { randomUUID } from 'node:crypto'
import t from 'tap'
import { build } from '#test/helper.ts'
import { encodeCursor } from '#src/lib/paging.ts'
import type { NewPdf } from '#src/pdf/index.ts'
import { DATE, pageWith, readPages } from './read-pdf.ts'

const { app } = await build(t)
const { db, pdf, storage } = app

const job = { kind: 'template', source: pageWith('{{ nome }}'), data: { nome: 'Anna' }, date: DATE.getTime() } as const

async function keep (values: Partial<NewPdf> = {}) {
  const { bytes } = await pdf.make(job, { caller: 'prova' })
  const object = { bucket: 'reports', name: `${randomUUID()}.pdf`, contentType: 'application/pdf', owner: null }
  const file = await storage.write(bytes, object, bytes.length)
  return await storage.settle(file, () => db.transaction(async (tx) => {
    const object = await storage.keep(tx, file, { replace: false })
    const record = { tipo: 'documento_pdf' as const, utente: null, template_id: null, nome: 'prova.pdf', object }
    return await pdf.record(tx, { ...record, ...values })
  }))
}

t.test('a PDF that is recorded in the transaction of its file is found, with its file', async (t) => {
  const made = await keep({ utente: 'anna' })
  t.match(await pdf.find(db, made.id), { utente: 'anna', stato: 'completato', nome: 'prova.pdf' })
  const object = await storage.find(db, made.bucket, made.oggetto)
  const bytes = Buffer.concat(await (await storage.read(object!)).toArray() as Buffer[])
  t.same(await readPages(bytes), ['Anna'])
})

t.test('records are listed from the newest, in pages, by person and by kind', async (t) => {
  const made = []
  for (let at = 0; at < 5; at++) {
    made.unshift((await keep({ utente: 'bruno', tipo: at % 2 ? 'report_finanziario' : 'lettera_benvenuto' })).id)
  }
  const first = await pdf.page(db, { utente: 'bruno' }, 3)
  const second = await pdf.page(db, { utente: 'bruno' }, 3, encodeCursor(first.next!))
  t.same([...first.data, ...second.data].map(({ id }) => id), made)
  t.equal(second.next, undefined)
  t.equal(await pdf.count(db, { utente: 'bruno' }), 5)
  t.equal(await pdf.count(db, { utente: 'bruno', tipi: ['report_finanziario'] }), 2)
  await t.rejects(pdf.page(db, {}, 3, 'x'), { code: 'RICHIESTA_NON_VALIDA' })
})

t.test('a removed PDF takes its file with it; nothing is removed when the transaction fails', async (t) => {
  const { id, bucket, oggetto } = await keep()
  const failing = db.transaction(async (tx) => {
    await pdf.remove(tx, [id])
    throw new Error('no')
  })
  await t.rejects(failing, { message: 'no' })
  t.ok(await pdf.find(db, id))
  await db.transaction((tx) => pdf.remove(tx, [id]))
  t.equal(await pdf.find(db, id), undefined)
  t.equal(await storage.find(db, bucket, oggetto), undefined)
})

t.test('a record goes with its file, wherever that is discarded, and nobody finds what has no id', async (t) => {
  const { id, bucket, oggetto } = await keep()
  const object = await storage.find(db, bucket, oggetto)
  await db.transaction((tx) => storage.discard(tx, [object!]))
  t.equal(await pdf.find(db, id), undefined)
  t.equal(await pdf.find(db, '1'), undefined)
})
