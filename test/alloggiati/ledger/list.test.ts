import fc from 'fast-check'
import t from 'tap'
import { create } from '#test/bookings/samples.ts'
import type { Invio } from '#schemas/invio.ts'
import { encode } from '#src/alloggiati/codec/codec.ts'
import { maskLine } from '#src/alloggiati/ledger/read-ledger.ts'
import { records } from '#test/alloggiati/codec/arbitraries.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { family, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, production, rowsReply, standIn } from '#test/alloggiati/stand-in.ts'
import { testClock } from '#test/clock.ts'
import { build, type TestApp } from '#test/helper.ts'
import { detail, INVII, ledgerServer, sent, unknown } from './administrator.ts'

const list = async ({ call }: TestApp, query = '') => (await call('GET', INVII + query)).json<{ data: Invio[] }>().data
const ids = (found: readonly Invio[]) => found.map(({ id }) => id)

const clock = clockAt(`${today}T12:00:00Z`)
/** The shared server, which each test resets. */
const sandbox = await build(t, {}, undefined, { clock })

/** A sandbox with this number of submissions. */
async function filled (count: number): Promise<TestApp> {
  const server = await emptied(sandbox)
  for (let n = 0; n < count; n++) {
    const check_in = n % 3 === 0 ? '2026-11-20' : today
    await server.call('POST', '/api/alloggiati/invio', {
      ospiti: [guestNo(n)],
      prenotazione: { ...soggiorno, check_in }
    })
  }
  return server
}

t.test('an item shows the sent data, the state and the legal deadline', async (t) => {
  const server = await emptied(sandbox)
  const { id: prenotazione_id } = await create(server.call, { check_in: today, numero_notti: 1 })
  await server.call('POST', '/api/alloggiati/invio', {
    ospiti: [single(), guestNo(2)], prenotazione: { check_in: today, numero_notti: 1, id: prenotazione_id }
  })
  const [item] = await list(server)
  const { creato_il, aggiornato_il, ...rest } = item!
  t.strictSame(rest, {
    id: 1,
    ricevuta: 'AW-20261121-1',
    stato: 'acquisito',
    metodo: 'Send',
    id_appartamento: null,
    prenotazione_id,
    data_arrivo: today,
    permanenza: 1,
    scadenza: '2026-11-21T19:00:00.000Z',
    numero_schedine: 2,
    operatore: 'server',
    nota: 'risposta del servizio'
  })
  for (const stamp of [creato_il, aggiornato_il]) t.match(stamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

t.test('the newest are first, and all pages together are the whole list', async (t) => {
  const server = await filled(7)
  const whole = ids(await list(server))
  t.same(whole, [7, 6, 5, 4, 3, 2, 1])
  for (const limit of [1, 3, 7, 1000]) {
    const found: number[] = []
    let next: string | undefined = `${INVII}?limit=${limit}`
    while (next !== undefined) {
      const response = await server.call('GET', next)
      t.equal(response.headers['x-total-count'], next.includes('cursor') ? undefined : '7')
      found.push(...ids(response.json<{ data: Invio[] }>().data))
      next = /^<(.+)>; rel="next"$/.exec(String(response.headers.link))?.[1]
    }
    t.same(found, whole, `limit ${limit}`)
  }
})

t.test(
  'a page has a hundred items by default, and invalid cursors and parameters are refused',
  async (t) => {
    const server = await emptied(sandbox)
    await server.app.sql`
      insert into invii
        (ricevuta, utente, operatore, metodo, data_arrivo, permanenza, scadenza, stato, lease_fino_al)
      select 'AW-PROVA-' || n, 'sandbox:XX000001', 'server', 'Send', '2026-11-21', 1, now(), 'pronto',
        now() + interval '1 hour'
      from generate_series(1, 101) n`
    const first = await server.call('GET', INVII)
    t.equal(first.json().data.length, 100)
    t.equal(first.headers['x-total-count'], '101')
    t.match(first.headers.link, /cursor=/)
    for (const cursor of ['x', Buffer.from('["id","1",1]').toString('base64url')]) {
      t.match((await server.call('GET', `${INVII}?cursor=${cursor}`)).json(), {
        status: 400,
        dettagli: [{ campo: 'cursor' }]
      })
    }
    for (const query of ['limit=0', 'limit=1001', 'altro=1', 'stato=ignoto', 'da=ieri']) {
      t.equal((await server.call('GET', `${INVII}?${query}`)).statusCode, 400, query)
    }
  }
)

t.test('filters narrow the list, its count and its pages', async (t) => {
  const server = await filled(7)
  const found = async (query: string) => ids(await list(server, query))
  t.same(await found('?da=2026-11-21'), [6, 5, 3, 2])
  t.same(await found('?a=2026-11-20'), [7, 4, 1])
  t.same(await found('?da=2026-11-20&a=2026-11-20&limit=2'), [7, 4])
  t.same(await found('?ricevuta=AW-20261121-3'), [3])
  t.same(await found('?stato=acquisito&limit=1'), [7])
  t.same(await found('?stato=sconosciuto'), [])
  t.same(await found('?prenotazione_id=1'), [])
  const counted = async (query: string) => (await server.call('GET', INVII + query)).headers['x-total-count']
  t.equal(await counted('?a=2026-11-20&limit=1'), '3')
  t.equal(await counted('?stato=acquisito&limit=1'), '7')
  t.equal(await counted('?stato=sconosciuto'), '0')
  t.equal(await counted('?conteggio=false'), undefined)
  const next = /<[^?]+(.+)>/.exec(String((await server.call('GET', `${INVII}?limit=1`)).headers.link))![1]!
  t.equal(await counted(next), undefined, 'a page after the first is not counted')
  t.equal(await counted(`${next}&conteggio=true`), '7', 'a page after the first is counted on request')
})

t.test('submissions of production and sandbox are shown separately', async (t) => {
  await filled(1)
  const police = await standIn(t)
  const real = await production(t, police, { DATABASE_URL: sandbox.url, DATA_DIR: sandbox.dataDir })
  t.same(await list(real), [])
  t.equal((await real.call('GET', `${INVII}/1`)).statusCode, 404)
  t.equal((await sandbox.call('GET', `${INVII}/1`)).statusCode, 200)
})

t.test('without police credentials the ledger can still be read', async (t) => {
  const police = await standIn(t)
  const real = await production(t, police)
  const { ricevuta } = (
    await real.call('POST', '/api/alloggiati/invio', {
      ospiti: [guestNo(1)],
      prenotazione: { check_in: testClock().today(), numero_notti: 1 }
    })
  ).json()
  const bare = await build(t, { ALLOGGIATI_MODE: 'production', DATABASE_URL: real.url, DATA_DIR: real.dataDir })
  t.match(await list(bare), [{ ricevuta }])
  t.equal((await bare.call('GET', `${INVII}/1`)).statusCode, 200)
})

const { police, server: real } = await ledgerServer(t)

t.test('the detail never contains a surname, a name, a birth date, a document number or a line', async (t) => {
  const server = await emptied(sandbox)
  const secret = { cognome: 'SEGRETONI', nome: 'ZENOBIA', numero_documento: 'ZZ9988776', data_nascita: '1971-03-09' }
  await server.call('POST', '/api/alloggiati/invio', { ospiti: family(secret), prenotazione: soggiorno })
  const { body } = await server.call('GET', `${INVII}/1`)
  t.match(body, '1971')
  for (const clear of [
    'SEGRETONI', 'Segretoni', 'ZENOBIA', 'ANNA', 'ZZ9988776', '9988776', '1971-03-09', '09/03/1971', '412058091'
  ]) { t.notOk(body.includes(clear), clear) }
  t.strictSame(
    (await detail(server, 1)).righe.map(({ schedina }) => schedina),
    [
      {
        tipo_alloggiato: '17',
        cognome: 'S.',
        nome: 'Z.',
        anno_nascita: 1971,
        cittadinanza: '100000100',
        tipo_documento: 'IDELE',
        numero_documento: '…776'
      },
      {
        tipo_alloggiato: '19',
        cognome: 'P.',
        nome: 'A.',
        anno_nascita: 2012,
        cittadinanza: '100000100',
        tipo_documento: '',
        numero_documento: ''
      }
    ]
  )
})

t.test(
  'a record shows initials, the birth year and at most half of the document number, up to three characters',
  async (t) => {
    t.doesNotThrow(() =>
      fc.assert(
        fc.property(records, (each) => {
          const masked = maskLine(encode(each))!
          const tail = masked.numero_documento.replace('…', '')
          return (
            masked.cognome.length === 2 &&
            masked.nome.length === 2 &&
            masked.anno_nascita === Number(each.data_nascita.slice(0, 4)) &&
            tail.length <= 3 &&
            tail.length * 2 <= each.num_doc.length &&
            each.num_doc.endsWith(tail) &&
            (each.num_doc === '' || masked.numero_documento !== each.num_doc)
          )
        })
      )
    )
  }
)

t.test('the detail shows rows, attempt, transitions in order, and no receipt yet', async (t) => {
  const server = await emptied(real, police)
  police.on.Send = response(rowsReply('Send', [true, false]))
  const id = await sent(server, [guestNo(1), guestNo(2)])
  const found = await detail(server, id)
  t.match(found, {
    id,
    stato: 'parziale',
    numero_schedine: 2,
    righe: [
      { indice: 0, capo: 0, esito: 'acquisita', codice_errore: null, permanenza: 3 },
      {
        indice: 1,
        capo: 1,
        esito: 'rifiutata',
        codice_errore: '12',
        messaggio_soap: 'SCHEDINA_CAMPO_NON_CORRETTO',
        dettaglio: 'Numero Documento non valido'
      }
    ],
    tentativi: [
      {
        numero: 1,
        base: 'primo',
        schedine: 2,
        notti: 6,
        esito: 'K',
        osservazioni: [{ esito: 'K', fonte: 'risposta', schedine: 1, notti: 3, http_status: 200, errore: null }]
      }
    ],
    transizioni: [
      { da: null, a: 'pronto', chi: 'server', perche: 'accettato' },
      { da: 'pronto', a: 'preso' },
      { da: 'preso', a: 'in_invio', perche: 'punto di non ritorno' },
      { da: 'in_invio', a: 'parziale' }
    ],
    decisioni: [],
    ricevuta_giorno: null
  })
  t.equal(found.versione, 3)
})

t.test('the ETag is the version that a decision must name', async (t) => {
  const server = await emptied(real, police)
  const id = await unknown(police, server)
  const { headers } = await server.call('GET', `${INVII}/${id}`)
  t.equal(headers.etag, `"${(await detail(server, id)).versione}"`)
})

t.test('the detail shows the stored police receipt for the day of the Send', async (t) => {
  const server = await emptied(sandbox)
  await server.call('POST', '/api/alloggiati/invio', { ospiti: family(), prenotazione: soggiorno })
  clock.set('2026-11-22T12:00:00Z')
  t.teardown(() => clock.set(`${today}T12:00:00Z`))
  await server.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  const [{ sha256 } = {}] = await server.app.sql`select sha256 from ricevute`
  t.strictSame((await detail(server, 1)).ricevuta_giorno, { giorno: today, sha256, schedine: 2, notti: 6 })
})

t.test('a submission that does not exist gets a 404, and an id that is not a number a 400', async (t) => {
  const { call } = await emptied(sandbox)
  t.match((await call('GET', `${INVII}/1`)).json(), { status: 404, codice: 'INVIO_NON_TROVATO' })
  t.equal((await call('GET', `${INVII}/uno`)).statusCode, 400)
})
