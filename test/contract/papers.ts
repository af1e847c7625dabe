import type { Static } from '@sinclair/typebox'
import type { PdfMade } from '#schemas/pdf.ts'
import { create } from '#test/bookings/samples.ts'
import { jpeg } from '#test/services/images/pictures.ts'
import { sampleRows } from '#test/reports/sample.ts'
import { anError, anInteger, exactly, INSTANT, UUID, type Wanted } from './exactly.ts'
import { PUBLIC_URL, type SharedServer, type Prove } from './shared-server.ts'

type Made = Static<typeof PdfMade>

const LETTERS = '/api/lettere-benvenuto'
const MADE: Wanted = {
  status: 'success',
  download_url: /^https:\/\/locanda\.example\/api\/csv-pdf-download\/[0-9a-f-]{36}$/,
  transaction_ref: UUID
}

/** Rows about letters, document images and PDFs. */
export async function paperRows ({ key, operator, operatorId, call }: SharedServer, prove: Prove): Promise<void> {
  const newBooking = async () => (await create(call)).id
  const generate = async (prenotazione_id: number | undefined, more: object = {}) =>
    await key('POST', `${LETTERS}/genera`, { prenotazione_id, nome_ospite: 'Anna Bianchi', lingua: 'IT', ...more })
  const letter = (id: number): Wanted => ({
    id: anInteger,
    prenotazione_id: id,
    nome_ospite: 'Anna Bianchi',
    lingua: 'IT',
    created_at: INSTANT,
    url: `${PUBLIC_URL}${LETTERS}/${id}/pdf`
  })

  for (const row of ['E16', 'T1', 'C2'] as const) {
    await prove(row, async (t) => {
      const id = await newBooking()
      const texts = { nome_ospite: 'A', greeting: 'B', text1: 'C', text2: 'D', text3: 'E', enjoy_text: 'F', codice: 7 }
      exactly(t, await generate(id, { template_data: texts }), 201, { success: true, data: letter(id), message: /./ })
      exactly(t, await key('GET', `${LETTERS}/${id}`), 200, { exists: true, data: letter(id) })
      const pdf = await key('GET', `${LETTERS}/${id}/pdf`)
      t.equal(pdf.headers['content-type'], 'application/pdf')
    })
  }
  await prove('E14', async (t) => {
    const id = await newBooking()
    await generate(id)
    const { data, ...rest } = (await key('GET', LETTERS)).json<{ data: { prenotazione_id: number }[] }>()
    t.strictSame(rest, {})
    exactly(t, await key('GET', `${LETTERS}/${id}`), 200, { exists: true, data: letter(id) })
    t.ok(data.some(({ prenotazione_id }) => prenotazione_id === id))
  })
  await prove('E15', async (t) => {
    exactly(t, await key('GET', `${LETTERS}/${await newBooking()}`), 200, { exists: false, data: null })
  })
  for (const row of ['E17', 'T3'] as const) {
    await prove(row, async (t) => {
      const id = await newBooking()
      await generate(id)
      exactly(t, await key('DELETE', `${LETTERS}/${id}`), 200, { success: true, message: /./ })
      exactly(t, await key('GET', `${LETTERS}/${id}`), 200, { exists: false, data: null })
    })
  }
  for (const row of ['F4', 'T4'] as const) {
    await prove(row, async (t) => {
      exactly(t, await key('DELETE', `${LETTERS}/${await newBooking()}`), 404, anError(404, /./))
    })
  }
  await prove('F1', async (t) => {
    exactly(t, await generate(undefined), 400,
      anError(400, /./, { dettagli: [{ campo: 'prenotazione_id', messaggio: /./ }] }))
  })
  for (const row of ['F2', 'T2'] as const) {
    await prove(row, async (t) => {
      const id = await newBooking()
      const before = (await generate(id)).json<{ data: object }>().data
      exactly(t, await generate(id, { nome_ospite: 'Altra' }), 409, anError(409, /./))
      t.strictSame((await key('GET', `${LETTERS}/${id}`)).json(), { exists: true, data: before })
    })
  }
  await prove('F3', async (t) => {
    exactly(t, await generate(2_147_483_647), 404, anError(404, 'Prenotazione non trovata'))
  })

  await prove('E18', async (t) => {
    const id = await newBooking()
    const base64Image = (await jpeg()).toString('base64')
    const body = { booking_id: id, guest_idx: 0, side: 'front', base64Image, ext: 'jpg' }
    exactly(t, await key('POST', '/api/documents/upload', body), 200, {
      success: true, message: /./, path: `documents/${id}/0/front.jpg`, url: `${PUBLIC_URL}/api/documents/${id}/0/front`
    })
    const url = `/api/documents/upload?booking_id=${id}&guest_idx=0&side=front`
    exactly(t, await key('POST', url, await jpeg(), { 'content-type': 'image/jpeg' }), 200, {
      success: true, message: /./, path: `documents/${id}/0/front.jpg`, url: `${PUBLIC_URL}/api/documents/${id}/0/front`
    })
    for (const campo of Object.keys(body)) {
      exactly(t, await key('POST', '/api/documents/upload', { ...body, [campo]: undefined }), 400,
        anError(400, /./, { dettagli: [{ campo, messaggio: /./ }] }))
    }
  })
  await prove('E19', async (t) => {
    const id = await newBooking()
    const base64Image = (await jpeg()).toString('base64')
    await key('POST', '/api/documents/upload', { booking_id: id, guest_idx: 1, side: 'back', base64Image, ext: 'jpg' })
    const response = await key('GET', `/api/documents/${id}/1/back`)
    t.equal(response.statusCode, 200)
    t.equal(response.headers['content-type'], 'image/jpeg')
    t.equal(response.rawPayload.subarray(0, 2).toString('hex'), 'ffd8')
    t.equal((await key('GET', `/api/documents/${id}/1/sinistra`)).statusCode, 400)
  })
  await prove('F6', async (t) => {
    exactly(t, await key('GET', `/api/documents/${await newBooking()}/0/front`), 404, anError(404, /./))
  })

  const pdf = { template: '<document><page><p>Buongiorno {{ nome }}</p></page></document>', data: { nome: 'Anna' } }
  await prove('E20', async (t) => {
    exactly(t, await operator('POST', '/api/generate-pdf', pdf), 200, MADE)
    const saved = { template_id: 'd2577b23c4d40496', data: { rows: sampleRows(1) } }
    exactly(t, await operator('POST', '/api/generate-pdf', saved), 200, MADE)
    exactly(t, await operator('POST', '/api/generate-pdf', { template_id: '0000000000000000', data: {} }), 404,
      anError(404, /./))
  })
  await prove('E21', async (t) => {
    const body = { rows: sampleRows(2), templateId: 'd2577b23c4d40496', user_id: operatorId }
    const bytes = await operator('POST', '/api/generate-template', body)
    t.equal(bytes.statusCode, 200)
    t.equal(bytes.headers['content-type'], 'application/pdf')
    t.equal(bytes.rawPayload.subarray(0, 5).toString(), '%PDF-')
    const response = await operator('POST', '/api/generate-template', { rows: [] }, { accept: 'application/json' })
    exactly(t, response, 200, MADE)
    exactly(t, await operator('POST', '/api/generate-template', {}), 400,
      anError(400, /./, { dettagli: [{ campo: 'rows', messaggio: /./ }] }))
  })
  await prove('E22', async (t) => {
    const made = (await operator('POST', '/api/generate-pdf', pdf)).json<Made>()
    const { data, ...rest } = (await operator('GET', `/api/csv-pdf-list?user_id=${operatorId}`))
      .json<{ data: { id: string }[] }>()
    t.strictSame(rest, {})
    const item = data.find(({ id }) => id === made.transaction_ref)!
    t.strictSame(Object.keys(item), ['id', 'nome', 'created_at', 'download_url'])
    t.match(item, { nome: /\.pdf$/, created_at: INSTANT, download_url: made.download_url })
    exactly(t, await operator('GET', '/api/csv-pdf-list'), 400,
      anError(400, /./, { dettagli: [{ campo: 'user_id', messaggio: /./ }] }))
    exactly(t, await operator('GET', '/api/csv-pdf-list?user_id=altri'), 403, anError(403, /./))
  })
  await prove('E23', async (t) => {
    const made = (await operator('POST', '/api/generate-pdf', pdf)).json<Made>()
    const response = await operator('GET', new URL(made.download_url).pathname)
    t.equal(response.statusCode, 200)
    t.match(response.headers, {
      'content-type': 'application/pdf', 'content-disposition': /^attachment; filename="[^"]+\.pdf"$/
    })
    exactly(t, await operator('GET', '/api/csv-pdf-download/nessuno'), 404, anError(404, /./))
  })
  await prove('E24', async (t) => {
    const made = (await operator('POST', '/api/generate-template', { rows: [] }, { accept: 'application/json' }))
      .json<Made>()
    const { data: [first], ...rest } = (await operator('GET', '/api/history')).json<{ data: object[] }>()
    t.strictSame(rest, {})
    t.strictSame({ ...first, created_at: '' }, {
      id: made.transaction_ref,
      tipo: 'report_finanziario',
      utente: operatorId,
      template_id: 'd2577b23c4d40496',
      created_at: '',
      stato: 'completato',
      download_url: made.download_url
    })
    t.match(first, { created_at: INSTANT })
  })
}
