import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type postgres from 'postgres'
import t from 'tap'
import { sealSettings } from '#src/alloggiati/ledger/seals/ledger-key.ts'
import { connect } from '#src/database/connect.ts'
import { answer } from '#test/alloggiati/service/soap/server.ts'
import { type Call, guestNo, invio, rowsReply } from '#test/alloggiati/stand-in.ts'
import type { TestApp } from '#test/helper.ts'
import { administrator, detail, ledgerServer, sent, unknown } from './administrator.ts'
import { keysOf } from './chain.ts'

/** In the order in which they can be emptied. */
const TABLES = [
  'invii_conferme', 'invii_correzioni', 'invii_cancellazioni', 'invii_esiti', 'invii_tentativi', 'invii_schedine',
  'invii_transizioni', 'invii_decisioni', 'invii'
]
const OTHERS = ['ricevute', 'ricevute_letture', 'invii_sospensioni']
const VERIFY = '/api/v1/invii/verifica'

/** Changes the database as somebody could who owns it, and has no key: no trigger fires meanwhile. */
async function behindTheTriggers (sql: postgres.Sql, change: string): Promise<void> {
  const triggers = (word: string) =>
    [...TABLES, ...OTHERS].map((table) => `alter table ${table} ${word} trigger user;`).join('')
  await sql.begin((tx) => tx.unsafe(`${triggers('disable')} ${change}; ${triggers('enable')}`))
}

/** A link whose hash is made without the key. */
const keylessLink = (invio: number, da: string | null, a: string) => {
  const parts = `${invio}, ${da === null ? 'null' : `'${da}'`}, '${a}', 'altri', 'altro', now()`
  return `insert into invii_transizioni (id, invio_id, da, a, chi, perche, quando, hash)
    select p.id + 1, ${parts}, sha256(convert_to(testo_dell_anello(p.hash, p.id + 1, ${parts}, 1), 'UTF8'))
    from (select * from invii_transizioni order by id desc limit 1) p;`
}

t.test('a ledger with submissions in every state that calls and decisions lead to', async (t) => {
  const { police, server, admin, decide } = await ledgerServer(t)
  const { sql } = server.app
  const verify = async (query = ''): Promise<object> => (await admin('GET', VERIFY + query)).json()

  const acquired = await sent(server, [guestNo(1), guestNo(2)])
  police.on.Test = (socket, call) => answer(rowsReply('Test', [false]))(socket, call as Call)
  const refused = await sent(server, [guestNo(3)])
  delete police.on.Test
  const decided = await unknown(police, server, [guestNo(4)])
  // The row as it was, with the seal that it had.
  await sql.unsafe(`create table vecchia as select * from invii_schedine where invio_id = ${decided}`)
  await decide(decided, 'acquisito')
  const cancelled = await unknown(police, server, [guestNo(5)])
  await decide(cancelled, 'annulla')
  const filed = await unknown(police, server, [guestNo(6)])
  await decide(filed, 'depositato')
  const lost = await unknown(police, server, [guestNo(7)])
  police.on.Send = (socket, call) => answer(rowsReply('Send', [true, false]))(socket, call as Call)
  const partial = await sent(server, [guestNo(8), guestNo(9)])
  delete police.on.Send

  t.test('holds: every link, every seal, every state', async (t) => {
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

  t.test('is verified for the arrivals of the days that are asked for, by administrators alone', async (t) => {
    t.match(await verify('?da=2999-01-01'), { integra: true, invii_controllati: 0, da: '2999-01-01', a: null })
    t.match(await verify('?da=2000-01-01&a=2999-01-01'), { invii_controllati: 7 })
    t.equal((await server.call('GET', VERIFY)).statusCode, 403)
    const backwards = await administrator(server).admin('GET', `${VERIFY}?da=2026-11-21&a=2026-11-20`)
    t.match(backwards.json(), { status: 400, dettagli: [{ campo: 'a' }] })
  })

  t.test('has its key in no table and no statement, and sessions without it cannot touch it', async (t) => {
    const outside = connect(server.url, 1)
    t.teardown(outside.close)
    t.match(await outside.sql`select current_setting('locanda.sigillo_i', true) as key`, [{ key: null }])
    for (const change of [
      "update invii set nota = 'altro' where id = 1",
      "update invii_schedine set dettaglio = 'altro' where invio_id = 1",
      "insert into invii_esiti (invio_id, numero, esito, fonte) values (1, 1, '?', 'risposta')"
    ]) await t.rejects(outside.sql.unsafe(change), { code: 'LC004' }, change)
    const settings = Object.values(sealSettings(keysOf(server)))
    const head = await readFile(join(server.dataDir, 'ledger.head'), 'utf8')
    t.ok(settings.every((value) => value === 'hex' || !(JSON.stringify(server.logs) + head).includes(value)))
  })

  // Totals that could not be read, and then could: the receipt has another seal.
  await sql.unsafe(`
    insert into invii_conferme (invio_id, chi, motivo, precedenti) values (${acquired}, 'a', 'un''altra', '{}');
    insert into invii_correzioni (invio_id, chi, motivo) values (${acquired}, 'a', 'il nome');
    insert into invii_sospensioni (motivo, chi, tolta_il) values ('prova', 'a', now());
    insert into ricevute (utente, giorno, pdf, sha256) values ('ALTRO', '2026-11-01', 'pdf', 'x');
    update ricevute set schedine = 1, notti = 2;
    insert into ricevute_letture (utente, giorno, sha256) values ('ALTRO', '2026-11-01', 'x')`)
  t.match(await verify(), { integra: true })
  const resealed = `update invii_schedine s
    set sigillo = sigillo_di(testo_da_sigillare('invii_schedine', to_jsonb(s)))`
  for (const table of [...TABLES, ...OTHERS]) await sql.unsafe(`create table copia_${table} as select * from ${table}`)
  const restore = [
    ...[...TABLES, ...OTHERS].map((table) => `delete from ${table};`),
    ...[...OTHERS, ...TABLES.toReversed()].map((table) =>
      `insert into ${table} overriding system value select * from copia_${table};`)
  ].join('')
  const takenAway = (id: number) =>
    TABLES.map((table) => `delete from ${table} where ${table === 'invii' ? 'id' : 'invio_id'} = ${id};`).join('')

  const forgeries: [name: string, change: string, invio: number | null, motivo: RegExp][] = [
    ['another state', `update invii set stato = 'ricevuto' where id = ${acquired}`, acquired, /stato, versione/],
    [
      'another state, with a link that is hashed without the key',
      `update invii set stato = 'ricevuto', versione = versione + 1 where id = ${acquired};` +
        keylessLink(acquired, 'acquisito', 'ricevuto'),
      acquired, /transizione \d+ è stata alterata/
    ],
    ['another arrival', `update invii set permanenza = 9 where id = ${lost}`, lost, /dati dell'invio/],
    [
      'another row outcome',
      `update invii_schedine set esito = 'rifiutata' where invio_id = ${decided}`, decided, /schedina/
    ],
    [
      'a row put back as it once was, with the seal of then',
      `delete from invii_schedine where invio_id = ${decided}; insert into invii_schedine select * from vecchia`,
      decided, /riportata indietro/
    ],
    ['a record erased', `update invii_schedine set riga = null where invio_id = ${filed}`, filed, /schedina/],
    ['a row gone', `delete from invii_schedine where invio_id = ${acquired} and indice = 1`, acquired, /transizione/],
    [
      'an attempt taken away',
      `delete from invii_esiti where invio_id = ${lost}; delete from invii_tentativi where invio_id = ${lost}`,
      lost, /tentativo manca/
    ],
    ['another outcome', `update invii_esiti set esito = 'N' where invio_id = ${lost}`, lost, /esito di un tentativo/],
    ['an outcome taken away', `delete from invii_esiti where invio_id = ${acquired}`, acquired, /manca l'esito/],
    ['a decision taken away', `delete from invii_decisioni where invio_id = ${cancelled}`, cancelled, /decisione manca/],
    [
      'a confirmation taken away',
      `update invii_schedine set confermata = true where invio_id = ${acquired}; ${resealed};
       delete from invii_conferme`,
      acquired, /manca la conferma/
    ],
    [
      'an erasure that nobody wrote down',
      `update invii_schedine set riga = null where invio_id = ${filed}; ${resealed}`, filed, /manca la cancellazione/
    ],
    ['other totals of a receipt', 'update ricevute set schedine = 9', null, /ricevuta del 2026-11-01/],
    ['a suspension reworded', "update invii_sospensioni set chi = 'altri'", null, /sospensione/],
    ['another author of a change', "update invii_transizioni set chi = 'altri' where id = 3", acquired, /transizione 3/],
    [
      'the end of the chain cut off, and the submission set back',
      `delete from invii_transizioni where id = (select max(id) from invii_transizioni);
       update invii set stato = 'in_invio', versione = versione - 1 where id = ${partial}`,
      partial, /dati dell'invio/
    ],
    ['a submission taken away', takenAway(refused), decided, /manca quella prima/],
    [
      'a submission that never was',
      `insert into invii
         (ricevuta, utente, operatore, metodo, data_arrivo, permanenza, scadenza, stato, lease_fino_al)
       select 'AW-20261121-99', utente, 'altri', metodo, data_arrivo, 1, now(), 'pronto', now()
       from invii where id = 1;` + keylessLink(8, null, 'pronto'),
      8, /transizione/
    ],
    ['the last submission taken away', takenAway(partial), null, /fine della catena/]
  ]
  for (const [name, change, id, motivo] of forgeries) {
    t.test(`altered behind the triggers, it says where: ${name}`, async (t) => {
      await behindTheTriggers(sql, `${change};`)
      t.match(await verify(), { integra: false, prima_riga_errata: { invio: id, motivo } })
      if (id !== null) t.notOk((await detail(server, id)).integro)
      await behindTheTriggers(sql, restore)
    })
  }

  t.test('written anew from its beginning, without the key, it is not believed', async (t) => {
    await behindTheTriggers(sql, `
      delete from invii_conferme; delete from invii_correzioni;
      do $$ declare link invii_transizioni; before bytea; begin
        for link in select * from invii_transizioni order by id loop
          before := sha256(convert_to(testo_dell_anello(before, link.id, link.invio_id, link.da, link.a, link.chi,
            link.perche, link.quando, null), 'UTF8'));
          update invii_transizioni set hash = before where id = link.id;
        end loop;
      end $$;
      ${TABLES.filter((table) => table !== 'invii_transizioni')
        .map((table) => `update ${table} set sigillo = null;`).join('')}`)
    t.match(await verify(), { integra: false, invii_errati: 7, prima_riga_errata: { motivo: /transizione/ } })
    await behindTheTriggers(sql, restore)
  })

  t.test('set back as it was it holds again', async (t) => {
    t.match(await verify(), { integra: true, invii_controllati: 7 })
  })

  t.test('loses the records of what ended 30 days ago, and nothing else of it', async (t) => {
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
    t.same(kept, [acquired, decided, lost, partial], 'what a receipt or a person may still speak of stays')
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
    t.equal(again.statusCode, 409, 'its guest is known all the same')
    await t.rejects(sql`update invii_schedine set riga = 'x' where invio_id = ${partial}`, { code: 'LC002' })
    t.match(await verify('?da=2000-01-01'), { integra: true, invii_controllati: 8 })
  })

  t.test('altered, it is reported in the log by the job of the night, which names no guest', async (t) => {
    await runJob(server, 'ledger-verification')
    t.same(alarms(server), [])
    await behindTheTriggers(sql, `update invii set permanenza = 9 where id = ${lost}`)
    await runJob(server, 'ledger-verification')
    t.match(alarms(server), [{ level: 50, invii_errati: 1, invio: lost, motivo: /dati dell'invio/ }])
  })
})

async function runJob ({ app }: TestApp, name: string): Promise<void> {
  const run = await app.jobs.start(name, async () => {})
  if (typeof run === 'object') await run.ended
}

function alarms ({ logs }: TestApp): object[] {
  return logs.filter(({ msg }) => msg === 'the submission ledger was altered: see GET /api/v1/invii/verifica')
}
