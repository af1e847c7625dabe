import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import t from 'tap'
import { ricevute, ricevute_letture } from '#drizzle/tables/alloggiati.ts'
import { world, type World } from '#test/alloggiati/ledger/reconcile-world.ts'

const DAY = '2026-11-20'

async function kept ({ db }: World) {
  const { giorno, sha256, schedine, notti } = ricevute
  return db.select({ giorno, sha256, schedine, notti }).from(ricevute).orderBy(giorno)
}

async function looks ({ db }: World) {
  return (await db.select().from(ricevute_letture).orderBy(ricevute_letture.id)).map(
    ({ giorno, letta_il, sha256, schedine, notti }) => ({
      giorno,
      letta_il: new Date(letta_il).toISOString(),
      seen: sha256 !== null,
      schedine,
      notti
    })
  )
}

t.test('a receipt is fetched once and kept for good, with what it counts', async (t) => {
  const w = await world(t, '2026-11-21T10:00:00Z')
  await w.acquired(`${DAY}T17:00:00Z`, 3, 2)
  const pdf = await w.archive.of(DAY)
  const sha256 = createHash('sha256').update(pdf).digest('hex')
  t.same(await kept(w), [{ giorno: DAY, sha256, schedine: 3, notti: 6 }])
  t.same(await looks(w), [{ giorno: DAY, letta_il: '2026-11-21T10:00:00.000Z', seen: true, schedine: 3, notti: 6 }])
  w.clock.set('2027-06-01T10:00:00Z')
  t.ok((await w.archive.of(DAY)).equals(pdf), 'long after the service has forgotten it')
  t.equal((await looks(w)).length, 1)
})

t.test('a look that finds none is written down, too', async (t) => {
  const w = await world(t, '2026-11-21T10:00:00Z')
  await t.rejects(w.archive.of(DAY), { code: 'RICEVUTA_NON_TROVATA' })
  t.same(await w.archive.look(DAY), { pdf: undefined, differs: false })
  t.same(
    (await looks(w)).map(({ seen, schedine }) => ({ seen, schedine })),
    [
      { seen: false, schedine: null },
      { seen: false, schedine: null }
    ]
  )
  t.same(await kept(w), [])
})

t.test('today and the future are not asked for, nor what the service gives no more', async (t) => {
  const w = await world(t, '2026-11-21T10:00:00Z')
  for (const day of ['2026-11-21', '2026-11-22', '2026-10-21']) {
    await t.rejects(w.archive.of(day), { code: 'RICEVUTA_NON_TROVATA' })
  }
  t.same(await looks(w), [])
})

t.test('a later look that counts otherwise is told, written down, and never replaces the copy', async (t) => {
  const w = await world(t, '2026-11-21T10:00:00Z')
  await w.acquired(`${DAY}T17:00:00Z`, 3, 2)
  const first = await w.archive.look(DAY)
  t.equal(first.differs, false)
  await w.acquired(`${DAY}T17:00:00Z`, 1, 2)
  t.equal((await w.archive.look(DAY)).differs, true)
  t.match(await kept(w), [{ schedine: 3, notti: 6 }])
  t.match(await looks(w), [{ schedine: 3 }, { schedine: 4 }])
  t.ok((await w.archive.of(DAY)).equals(first.pdf!))
  await t.rejects(w.db.execute(sql`update ricevute set schedine = 4`), { cause: { code: 'LC003' } })
  await t.rejects(w.db.execute(sql`delete from ricevute_letture`), { cause: { code: 'LC003' } })
})

t.test('at night all that is missing of the last thirty days is fetched', async (t) => {
  const w = await world(t, '2026-11-21T05:30:00Z')
  for (const day of ['2026-10-21', '2026-10-22', DAY, '2026-11-21']) await w.acquired(`${day}T10:00:00Z`, 1, 1)
  await w.archive.fetchMissing()
  t.same((await kept(w)).map(({ giorno }) => giorno), ['2026-10-22', DAY])
  t.equal((await looks(w)).length, 30)
  await w.archive.fetchMissing()
  t.equal((await looks(w)).length, 58, 'and nothing that is kept')
})
