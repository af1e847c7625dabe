import type postgres from 'postgres'
import t from 'tap'
import { guestNo, invio, production } from '#test/alloggiati/stand-in.ts'
import { ledgerServer, sent, unknown } from './administrator.ts'
import { brokenLinks, keysOf } from './chain.ts'

/** Changes the database as somebody could who owns it: the triggers are off for the time. */
async function behindTheTriggers (sql: postgres.ISql, change: string): Promise<void> {
  await sql.unsafe('alter table invii_transizioni disable trigger user')
  await sql.unsafe(change)
  await sql.unsafe('alter table invii_transizioni enable trigger user')
}

const FORGERIES: [name: string, change: string, broken: number[]][] = [
  ['another author', "update invii_transizioni set chi = 'altri' where id = 7", [7]],
  ['another reason', "update invii_transizioni set perche = '' where id = 7", [7]],
  ['another state', "update invii_transizioni set a = 'rifiutato' where id = 7", [7]],
  [
    'another time, by a millisecond',
    "update invii_transizioni set quando = quando + interval '1 millisecond' where id = 7",
    [7]
  ],
  ['another submission', 'update invii_transizioni set invio_id = 1 where id = 7', [7]],
  ['another hash', "update invii_transizioni set hash = sha256('altro') where id = 7", [7, 8]],
  ['a link taken out', 'delete from invii_transizioni where id = 7', [8]],
  [
    'two links exchanged',
    'update invii_transizioni set id = case id when 7 then -8 else -7 end where id in (7, 8);' +
      'update invii_transizioni set id = -id where id < 0',
    [7, 8, 9]
  ]
]

t.test('a ledger with several submissions and a decision', async (t) => {
  const { police, server, decide } = await ledgerServer(t)
  const { app: { sql }, call } = server
  const keys = keysOf(server)
  for (const n of [1, 2]) await sent(server, [guestNo(n)])
  await decide(await unknown(police, server, [guestNo(3)]), 'acquisito')
  const other = await production(t, police, { DATABASE_URL: server.url, DATA_DIR: server.dataDir })
  await Promise.all(
    [4, 5, 6, 7].map((n) => (n % 2 ? server : other).call('POST', '/api/alloggiati/invio', invio([guestNo(n)])))
  )

  t.test('the chain is one, without gaps, although two servers wrote it at once', async (t) => {
    const ids = (await sql<{ id: number }[]>`select id from invii_transizioni order by id`).map(({ id }) => id)
    t.same(ids, Array.from({ length: ids.length }, (_, n) => n + 1))
    t.ok(ids.length > 25)
  })

  t.test('every hash can be computed from its row and the one before', async (t) => {
    t.same(await brokenLinks(sql, keys), [])
  })

  t.test('every change of state is in it: following it gives each submission\'s state and version', async (t) => {
    t.same(
      await sql`
      select i.id from invii i left join (
        select invio_id, (array_agg(a order by id desc))[1] as stato, count(*) - 1 as versione
       from invii_transizioni group by invio_id
      ) t on t.invio_id = i.id where (i.stato, i.versione) is distinct from (t.stato, t.versione)`,
      []
    )
    t.same(await sql`
      select id from (select id, da, lag(a) over (partition by invio_id order by id) as before from invii_transizioni) t
      where da is distinct from before`, [])
  })

  t.test('a link cannot be changed or removed', async (t) => {
    for (const change of [
      "update invii_transizioni set chi = 'altri'",
      'delete from invii_transizioni',
      'truncate invii_transizioni',
      'truncate invii cascade'
    ]) {
      await t.rejects(sql.unsafe(change), { code: 'LC003' }, change)
    }
  })

  for (const [name, change, broken] of FORGERIES) {
    t.test(`forged behind the triggers, it shows where: ${name}`, async (t) => {
      await t.rejects(sql.begin(async (sql) => {
        await behindTheTriggers(sql, change)
        t.same(await brokenLinks(sql, keys), broken)
        throw new Error('undone')
      }), { message: 'undone' })
    })
  }

  t.test('with its end written anew it sends nothing more', async (t) => {
    await sent(server, [guestNo(8)])
    // The end that is noted outside of the database is the last dispatch.
    await sql.begin((sql) =>
      behindTheTriggers(
        sql,
        "delete from invii_transizioni where id >= (select max(id) from invii_transizioni where a = 'in_invio')"
      )
    )
    t.match((await call('POST', '/api/alloggiati/invio', invio([guestNo(9)]))).json(), {
      status: 422,
      codice: 'INVII_SOSPESI'
    })
  })
})
