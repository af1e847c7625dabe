import type postgres from 'postgres'
import t from 'tap'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { type Call, guestNo, invio, rowsReply } from '#test/alloggiati/stand-in.ts'
import type { TestApp } from '#test/helper.ts'
import { administrator, detail, ledgerServer, sent, unknown } from './administrator.ts'

/** Tables in an order in which foreign keys allow to empty them. */
const TABLES = [
  'invii_conferme', 'invii_correzioni', 'invii_cancellazioni', 'invii_esiti', 'invii_tentativi', 'invii_schedine',
  'invii_transizioni', 'invii_decisioni', 'invii'
]
const VERIFY = '/api/v1/invii/verifica'

/** Changes the database with its triggers disabled. */
async function behindTheTriggers (sql: postgres.Sql, change: string): Promise<void> {
  const triggers = (word: string) =>
    TABLES.map((table) => `alter table ${table} ${word} trigger user;`).join('')
  await sql.begin((tx) => tx.unsafe(`${triggers('disable')} ${change}; ${triggers('enable')}`))
}

t.test('a ledger with submissions in six states', async (t) => {
  const { police, server, admin, decide } = await ledgerServer(t)
  const { sql } = server.app
  const verify = async (query = ''): Promise<object> => (await admin('GET', VERIFY + query)).json()

  const acquired = await sent(server, [guestNo(1), guestNo(2)])
  police.on.Test = (socket, call) => response(rowsReply('Test', [false]))(socket, call as Call)
  const refused = await sent(server, [guestNo(3)])
  delete police.on.Test
  const decided = await unknown(police, server, [guestNo(4)])
  await sql.unsafe(`create table vecchia as select * from invii_schedine where invio_id = ${decided}`)
  await decide(decided, 'acquisito')
  const cancelled = await unknown(police, server, [guestNo(5)])
  await decide(cancelled, 'annulla')
  const filed = await unknown(police, server, [guestNo(6)])
  await decide(filed, 'depositato')
  const lost = await unknown(police, server, [guestNo(7)])
  police.on.Send = (socket, call) => response(rowsReply('Send', [true, false]))(socket, call as Call)
  const partial = await sent(server, [guestNo(8), guestNo(9)])
  delete police.on.Send

  t.test('is valid in every link and for every submission', async (t) => {
    const states = (await sql`select stato from invii order by id`).map(({ stato }) => String(stato))
    t.same(states, [
      'acquisito', 'rifiutato', 'acquisito', 'annullato', 'depositato_altrove', 'sconosciuto', 'parziale'
    ])
    const [{ links } = { links: 0 }] = await sql<{ links: number }[]>`
      select count(*)::int as links from invii_transizioni`
    t.match(await verify(), {
      integra: true, completa: true, invii_controllati: 7, anelli: links, invii_errati: 0, prima_riga_errata: null
    })
    for (const id of [acquired, refused, decided, cancelled, filed, lost, partial]) {
      t.ok((await detail(server, id)).integro, String(id))
    }
  })

  t.test('is verified for the requested arrival days, only by administrators', async (t) => {
    t.match(await verify('?da=2999-01-01'), { integra: true, invii_controllati: 0, da: '2999-01-01', a: null })
    t.match(await verify('?da=2000-01-01&a=2999-01-01'), { invii_controllati: 7 })
    t.equal((await server.call('GET', VERIFY)).statusCode, 403)
    const backwards = await administrator(server).admin('GET', `${VERIFY}?da=2026-11-21&a=2026-11-20`)
    t.match(backwards.json(), { status: 400, dettagli: [{ campo: 'a' }] })
  })

  await sql.unsafe(`
    insert into invii_conferme (invio_id, chi, motivo, precedenti) values (${acquired}, 'a', 'un''altra', '{}')`)
  for (const table of TABLES) await sql.unsafe(`create table copia_${table} as select * from ${table}`)
  const restore = [
    ...TABLES.map((table) => `delete from ${table};`),
    ...TABLES.toReversed().map((table) =>
      `insert into ${table} overriding system value select * from copia_${table};`)
  ].join('')
  const deletionOf = (id: number) =>
    TABLES.map((table) => `delete from ${table} where ${table === 'invii' ? 'id' : 'invio_id'} = ${id};`).join('')

  const forgeries: [name: string, change: string, invio: number | null, motivo: RegExp][] = [
    ['another state', `update invii set stato = 'ricevuto' where id = ${acquired}`, acquired, /stato, versione/],
    [
      'a row put back as it once was',
      `delete from invii_schedine where invio_id = ${decided}; insert into invii_schedine select * from vecchia`,
      decided, /esito di una schedina non è possibile/
    ],
    [
      'an attempt taken away',
      `delete from invii_esiti where invio_id = ${lost}; delete from invii_tentativi where invio_id = ${lost}`,
      lost, /tentativo manca/
    ],
    ['an outcome taken away', `delete from invii_esiti where invio_id = ${acquired}`, acquired, /manca l'esito/],
    [
      'the outcome of an acquired attempt changed',
      `update invii_esiti set esito = '?' where invio_id = ${acquired}`, acquired, /prova che è stato acquisito/
    ],
    ['a decision taken away', `delete from invii_decisioni where invio_id = ${cancelled}`, cancelled, /decisione manca/],
    [
      'a confirmation taken away',
      `update invii_schedine set confermata = true where invio_id = ${acquired}; delete from invii_conferme`,
      acquired, /manca la conferma/
    ],
    ['another author of a change', "update invii_transizioni set chi = 'altri' where id = 3", acquired, /transizione 3/],
    ['a submission taken away', deletionOf(refused), decided, /manca quella prima/],
    ['the last submission taken away', deletionOf(partial), null, /fine della catena/]
  ]
  for (const [name, change, id, motivo] of forgeries) {
    t.test(`tampering without triggers is found at its row: ${name}`, async (t) => {
      await behindTheTriggers(sql, `${change};`)
      t.match(await verify(), { integra: false, prima_riga_errata: { invio: id, motivo } })
      if (id !== null) t.notOk((await detail(server, id)).integro)
      await behindTheTriggers(sql, restore)
    })
  }

  t.test('is valid again after the original rows are restored', async (t) => {
    t.match(await verify(), { integra: true, invii_controllati: 7 })
  })

  t.test('loses the encrypted records of submissions some time after their end, and no other data', async (t) => {
    const records = async () =>
      await sql`select invio_id, count(riga)::int as records from invii_schedine group by invio_id order by invio_id`
    const receipted = await sent(server, [guestNo(10)])
    await sql`
      insert into ricevute (utente, giorno, pdf, sha256)
      select i.utente, t.giorno_da, 'pdf', 'x' from invii i join invii_tentativi t on t.invio_id = i.id
      where i.id = ${receipted}`
    await sql`update invii set stato = 'ricevuto' where id = ${receipted}`
    const before = await records()
    await sql`update invii set aggiornato_il = now() - interval '29 days'`
    await runJob(server, 'record-erasure')
    t.same(await records(), before, 'not before')
    await sql`update invii set aggiornato_il = now() - interval '30 days 1 minute'`
    await runJob(server, 'record-erasure')
    const kept = (await records()).filter(({ records }) => records > 0).map(({ invio_id: id }) => Number(id))
    t.same(kept, [acquired, decided, lost, partial], 'records are kept while a receipt or a person may matter')
    await sql`update invii set aggiornato_il = now() - interval '31 days 1 minute' where id = ${partial}`
    for (const again of [1, 2]) {
      await runJob(server, 'record-erasure')
      t.same(await sql`select invio_id, righe from invii_cancellazioni order by invio_id`, [
        { invio_id: refused, righe: 1 },
        { invio_id: cancelled, righe: 1 },
        { invio_id: filed, righe: 1 },
        { invio_id: partial, righe: 2 },
        { invio_id: receipted, righe: 1 }
      ], `run ${again}`)
    }
    t.match(await detail(server, partial), {
      integro: true, righe: [{ esito: 'acquisita', schedina: null }, { esito: 'rifiutata', schedina: null }]
    })
    const again = await server.call('POST', '/api/alloggiati/invio', invio([guestNo(10)]))
    t.equal(again.statusCode, 409, 'the guest is still recognized')
    await t.rejects(sql`update invii_schedine set riga = 'x' where invio_id = ${partial}`, { code: 'LC002' })
    t.match(await verify('?da=2000-01-01'), { integra: true, invii_controllati: 8 })
  })

  t.test('the nightly job logs tampering without guest data', async (t) => {
    await runJob(server, 'ledger-verification')
    t.same(alarms(server), [])
    await behindTheTriggers(sql, `update invii set versione = 9 where id = ${lost}`)
    await runJob(server, 'ledger-verification')
    t.match(alarms(server), [{ level: 50, invii_errati: 1, invio: lost, motivo: /stato, versione/ }])
  })
})

async function runJob ({ app }: TestApp, name: string): Promise<void> {
  const run = await app.jobs.start(name, async () => {})
  if (typeof run === 'object') await run.ended
}

function alarms ({ logs }: TestApp): object[] {
  return logs.filter(({ msg }) => msg === 'the submission ledger was altered: see GET /api/v1/invii/verifica')
}
