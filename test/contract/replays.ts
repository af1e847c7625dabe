import { randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import type { Unit } from '#schemas/unit.ts'
import { addDays } from '#src/lib/time.ts'
import { single } from '#test/alloggiati/rules/samples.ts'
import { booking, create } from '#test/bookings/samples.ts'
import { form, FORM_TYPE } from '#test/identity/form.ts'
import { jpeg } from '#test/services/images/pictures.ts'
import { HOLDER } from '#test/scans/scanning.ts'
import { TODAY, type SharedServer } from './shared-server.ts'

/**
 * A request to a route with `Idempotency-Key`. `other` is a body that is rejected with the same key. `refused`: the
 * request is refused, and a repetition gets the same refusal.
 */
export interface Replayed {
  url: string
  payload: object
  other?: object
  refused?: true
  headers?: Record<string, string>
}

const STAY = { check_in: TODAY, numero_notti: 3 }
let guests = 0
/** A new guest each time, because a sent guest cannot be sent again. */
const guest = () => {
  const n = guests++
  return single({ cognome: `RIPETUTI ${String.fromCharCode(65 + n)}`, numero_documento: `CA001${n + 10}AA` })
}
let units = 0
const room = () => ({ nome: `Camera ripetuta ${units++}`, tipo: 'camera', ospiti_massimi: 9 })
const PAGE = '<document><page><p>{{ nome }}</p></page></document>'
const REASON = 'Motivo della richiesta di prova'

/** A request for each POST that creates or sends something. */
export const HONOURED: Readonly<Record<string, (server: SharedServer) => Promise<Replayed>>> = {
  '/api/operators': async () => {
    const email = `ripetuta-${randomUUID()}@example.org`
    const person = { email, password: 'una-frase-lunga-e-mia', name: 'Rita', surname: 'Neri' }
    return { url: '/api/operators', payload: person, other: { ...person, name: 'Altra' } }
  },
  '/api/operators/pfp': async ({ operatorId }) => {
    const picture = async (width: number) => form([['userId', operatorId], ['file', await jpeg(width), 'io.jpg']])
    return {
      url: '/api/operators/pfp',
      payload: await picture(64),
      other: await picture(32),
      headers: { 'content-type': FORM_TYPE }
    }
  },
  '/api/v1/signing-keys/rotate': async () => ({
    url: '/api/v1/signing-keys/rotate', payload: {}, other: { immediate: false }
  }),
  '/api/v1/prenotazioni': async () => ({
    url: '/api/v1/prenotazioni', payload: booking(), other: booking({ lingua: 'EN' })
  }),
  '/api/v1/prenotazioni/csv': async () => {
    const names = 'ospite;arrivo;notti;ospiti;paese'
    const file = (name: string) => form([['file', `${names}\n${name};28/11/2026;2;2;IT`, 'p.csv']])
    return {
      url: '/api/v1/prenotazioni/csv?prova=false',
      payload: file('Anna Bianchi'),
      other: file('Rita Neri'),
      headers: { 'content-type': FORM_TYPE }
    }
  },
  '/api/saveOspiti': async ({ call }) => {
    const body = { prenotazione_id: (await create(call)).id, dati: [{ nome: 'Anna', cognome: 'Bianchi' }] }
    return { url: '/api/saveOspiti', payload: body, other: { ...body, dati: [] } }
  },
  '/api/alloggiati/invio': async () => ({
    url: '/api/alloggiati/invio',
    payload: { ospiti: [guest()], prenotazione: STAY },
    other: { ospiti: [guest()], prenotazione: STAY }
  }),
  '/api/v1/prenotazioni/{id}/invio': async ({ call }) => {
    const { id } = await create(call, { numero_ospiti: 1, ...STAY })
    await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [guest()] })
    return { url: `/api/v1/prenotazioni/${id}/invio`, payload: {}, other: { testMode: true } }
  },
  '/api/v1/invii/giornata': async ({ call }) => {
    const { id } = await create(call, { numero_ospiti: 1, ...STAY })
    await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [guest()] })
    return { url: '/api/v1/invii/giornata', payload: { prenotazioni: [id] }, other: { prova: true } }
  },
  // The submission does not exist, so a repetition gets the same refusal. The ledger's tests cover decisions.
  '/api/v1/invii/{id}/decisione': async () => {
    const body = { decisione: 'annulla', motivo: REASON, versione: 1, conferma: `1 ospite ${TODAY}` }
    return {
      url: '/api/v1/invii/2147483647/decisione', payload: body, other: { ...body, versione: 2 }, refused: true
    }
  },
  '/api/v1/invii/{id}/correzione': async ({ call }) => {
    const sent = await call('POST', '/api/alloggiati/invio', { ospiti: [guest()], prenotazione: STAY })
    return {
      url: `${String(sent.headers.location)}/correzione`,
      payload: { motivo: REASON },
      other: { motivo: REASON, protocollo: 'PEC 1' }
    }
  },
  '/api/v1/strutture': async () => {
    const house = { nome: 'Casa del Porto' }
    return { url: '/api/v1/strutture', payload: house, other: { ...house, tipo: 'albergo' } }
  },
  '/api/v1/unita': async () => {
    const unit = room()
    return { url: '/api/v1/unita', payload: unit, other: { ...unit, ospiti_massimi: 3 } }
  },
  '/api/v1/blocchi': async ({ call }) => {
    const made = await call('POST', '/api/v1/unita', room())
    const block = { unita_id: made.json<{ data: Unit }>().data.id, dal: TODAY, al: '2030-01-01', motivo: 'altro' }
    return { url: '/api/v1/blocchi', payload: block, other: { ...block, al: '2030-01-02' } }
  },
  '/api/v1/prenotazioni/{id}/assegna': async ({ call }) => {
    await call('POST', '/api/v1/unita', room())
    const { id } = await create(call, { numero_ospiti: 8 })
    return { url: `/api/v1/prenotazioni/${id}/assegna`, payload: {} }
  },
  '/api/v1/invii/deposito': async () => {
    const prenotazione = { check_in: addDays(TODAY, -5), numero_notti: 3 }
    const body = { ospiti: [guest()], prenotazione, motivo: REASON, protocollo: 'PEC 1' }
    return { url: '/api/v1/invii/deposito', payload: body, other: { ...body, protocollo: 'PEC 2' } }
  },
  '/api/v1/prenotazioni/{id}/scansione': async ({ call }) => {
    const { id } = await create(call)
    const body = { image: (await jpeg()).toString('base64'), guest_idx: 0 }
    const url = `/api/v1/prenotazioni/${id}/scansione`
    return { url, payload: body, other: { ...body, guest_idx: 1 }, refused: true }
  },
  '/api/v1/appartamenti': async () => {
    const home = {
      descrizione: 'Casa al lago',
      comune_codice: '412058091',
      indirizzo: 'Via dei Prati, 8',
      proprietario: 'Ada Provetti'
    }
    return { url: '/api/v1/appartamenti', payload: home, other: { ...home, descrizione: 'Altra' } }
  },
  '/api/documents/upload': async ({ call }) => {
    const base64Image = (await jpeg()).toString('base64')
    const body = { booking_id: (await create(call)).id, guest_idx: 0, side: 'front', base64Image, ext: 'jpg' }
    return { url: '/api/documents/upload', payload: body, other: { ...body, side: 'back' } }
  },
  '/api/lettere-benvenuto/genera': async ({ call }) => {
    const body = { prenotazione_id: (await create(call)).id, nome_ospite: 'Anna Bianchi', lingua: 'IT' }
    return { url: '/api/lettere-benvenuto/genera', payload: body, other: { ...body, lingua: 'EN' } }
  },
  '/api/generate-pdf': async () => ({
    url: '/api/generate-pdf',
    payload: { template: PAGE, data: { nome: 'Anna' } },
    other: { template: PAGE, data: { nome: 'Piero' } }
  }),
  '/api/generate-template': async () => ({
    url: '/api/generate-template',
    payload: { rows: [{ listingTitle: 'Bilocale' }] },
    other: { rows: [] },
    headers: { accept: 'application/json' }
  }),
  '/api/v1/report/csv': async () => ({
    url: '/api/v1/report/csv',
    payload: form([['file', 'listingTitle\nBilocale', 'r.csv']]),
    other: form([['file', 'listingTitle\nTrilocale', 'r.csv']]),
    headers: { 'content-type': FORM_TYPE, accept: 'application/json' }
  }),
  '/api/save-scan': async () => ({
    url: '/api/save-scan', payload: HOLDER, other: { ...HOLDER, name: 'ALTRA' }
  }),
  '/api/v1/scansioni/{id}/ospite': async ({ call }) => {
    const { id } = (await call('POST', '/api/save-scan', HOLDER)).json<{ id: number }>()
    const prenotazione_id = (await create(call)).id
    const body = { prenotazione_id, guest_idx: 0 }
    return { url: `/api/v1/scansioni/${id}/ospite`, payload: body, other: { ...body, dati: { sesso: 'M' } } }
  },
  '/api/send-email': async () => {
    const mail = { recipients: ['ada@ospiti.example'], subject: 'Il vostro arrivo', body: '<p>Vi aspettiamo.</p>' }
    return { url: '/api/send-email', payload: mail, other: { ...mail, subject: 'Altro' } }
  },
  // No test creates such events, so the webhook gets no delivery.
  '/api/v1/webhooks': async () => {
    const webhook = { url: 'https://ricevitore.example/eventi', tipi: ['webhook.sospeso'] }
    return { url: '/api/v1/webhooks', payload: webhook, other: { ...webhook, descrizione: 'Altro' } }
  },
  '/api/v1/webhooks/{id}/riattiva': async () => ({
    url: '/api/v1/webhooks/2147483647/riattiva', payload: {}, refused: true
  }),
  '/api/v1/webhooks/{id}/segreto': async () => ({
    url: '/api/v1/webhooks/2147483647/segreto', payload: {}, refused: true
  }),
  '/api/v1/webhooks/{id}/consegne/{consegna}/ripeti': async () => ({
    url: '/api/v1/webhooks/2147483647/consegne/1/ripeti', payload: {}, refused: true
  }),
  '/api/v1/webhooks/{id}/prova': async () => ({
    url: '/api/v1/webhooks/2147483647/prova', payload: {}, refused: true
  })
} satisfies Record<string, (server: SharedServer) => Promise<Replayed & Pick<InjectOptions, 'headers'>>>

/** POSTs without `Idempotency-Key`, by reason. */
export const WITHOUT_KEY: Readonly<Record<string, readonly string[]>> = {
  'nothing is kept: the same body gives the same answer': [
    '/api/alloggiati/file', '/api/alloggiati/valida', '/api/mrz/parse', '/api/ocr',
    '/api/v1/prenotazioni/{id}/schedine', '/api/v1/templates/valida', '/api/v1/templates/{id}/preview'
  ],
  'a state is set: set twice, it is the same': [
    '/api/settings/features',
    '/api/settings/maintenance',
    '/api/v1/invii/sospensione',
    '/api/v1/strutture/{id}/polizia/prova'
  ],
  'something is taken away: there is nothing left to take': [
    '/api/auth/unlink', '/api/sessions/revoke-all', '/api/v1/prenotazioni/delete-bulk',
    '/api/v1/prenotazioni/{id}/cancellazione'
  ],
  'a job is harmless when it is run twice': ['/api/v1/jobs/{nome}/avvia'],
  'the answer holds rows of any table, or secrets, which are not kept': ['/api/admin/grant-cookie', '/api/querysql']
}
