import fc from 'fast-check'
import t from 'tap'
import { encode } from '#src/alloggiati/codec/codec.ts'
import { maskLine } from '#src/alloggiati/ledger/mask.ts'
import { records } from '#test/alloggiati/codec/arbitraries.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { family, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { answer } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, rowsReply } from '#test/alloggiati/stand-in.ts'
import { build } from '#test/helper.ts'
import { ledgerServer, detail, INVII, sent, unknown } from './administrator.ts'

/** The servers of all tests: each test finds its own empty. */
const clock = clockAt(`${today}T12:00:00Z`)
const sandbox = await build(t, {}, undefined, { clock })
const { police, server: real } = await ledgerServer(t)

t.test('the detail never holds a surname, a name, a birth date, a document\'s number or a row', async (t) => {
  const server = await emptied(sandbox)
  const secret = { cognome: 'SEGRETONI', nome: 'ZENOBIA', numero_documento: 'ZZ9988776', data_nascita: '1971-03-09' }
  await server.call('POST', '/api/alloggiati/invio', { ospiti: family(secret), prenotazione: soggiorno })
  const { body } = await server.call('GET', `${INVII}/1`)
  t.match(body, '1971')
  for (const clear of [
    'SEGRETONI',
    'Segretoni',
    'ZENOBIA',
    'ANNA',
    'ZZ9988776',
    '9988776',
    '1971-03-09',
    '09/03/1971',
    '412058091'
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
  'of any record only initials, the year and at most half of the number are shown, three characters at the most',
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

t.test('what is no record is shown as none', async (t) => {
  t.equal(maskLine(''), null)
  t.equal(maskLine('x'.repeat(168)), null)
})

t.test('the detail tells the whole story: rows, attempt, steps in their order, and no receipt yet', async (t) => {
  const server = await emptied(real, police)
  police.on.Send = answer(rowsReply('Send', [true, false]))
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

t.test('an attempt has no outcome while its Send is under way; a submission that was not sent has none', async (t) => {
  const server = await emptied(real, police)
  const reply = held()
  police.on.Send = reply.behaviour
  const sending = sent(server, [guestNo(1)])
  await reply.arrived
  t.match(await detail(server, 1), { stato: 'in_invio', tentativi: [{ esito: null, osservazioni: [] }] })
  reply.release(answer(rowsReply('Send', [true])))
  await sending
  police.on.Test = answer(rowsReply('Test', [false]))
  const refused = await sent(server, [guestNo(2)])
  t.match(await detail(server, refused), { stato: 'rifiutato', tentativi: [], ricevuta_giorno: null })
})

t.test('a hash of the chain is shown as the database holds it', async (t) => {
  const server = await emptied(sandbox)
  await server.call('POST', '/api/alloggiati/invio', { ospiti: [single()], prenotazione: soggiorno })
  const kept = await server.app.sql`select id, encode(hash, 'hex') as hash from invii_transizioni order by id`
  t.same((await detail(server, 1)).transizioni.map(({ id, hash }) => ({ id, hash })), kept)
})

t.test('the ETag is the version, on which a decision can be made', async (t) => {
  const server = await emptied(real, police)
  const id = await unknown(police, server)
  const { headers } = await server.call('GET', `${INVII}/${id}`)
  t.equal(headers.etag, `"${(await detail(server, id)).versione}"`)
})

t.test('the receipt of the day on which it was sent is shown once it is kept', async (t) => {
  const server = await emptied(sandbox)
  await server.call('POST', '/api/alloggiati/invio', { ospiti: family(), prenotazione: soggiorno })
  clock.set('2026-11-22T12:00:00Z')
  t.teardown(() => clock.set(`${today}T12:00:00Z`))
  await server.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  const [{ sha256 } = {}] = await server.app.sql`select sha256 from ricevute`
  t.strictSame((await detail(server, 1)).ricevuta_giorno, { giorno: today, sha256, schedine: 2, notti: 6 })
})

t.test('a submission that does not exist is not found', async (t) => {
  const { call } = await emptied(sandbox)
  t.match((await call('GET', `${INVII}/1`)).json(), { status: 404, codice: 'INVIO_NON_TROVATO' })
  t.equal((await call('GET', `${INVII}/uno`)).statusCode, 400)
})
