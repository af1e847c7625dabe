import { sql as query } from 'drizzle-orm'
import fc from 'fast-check'
import t from 'tap'
import { prenotazioni } from '#drizzle/tables/bookings.ts'
import { auditLog, type AuditEntry } from '#src/plugins/audit/log.ts'
import { verifyChain } from '#src/plugins/audit/verify.ts'
import { connect } from '#src/plugins/database/connect.ts'
import { anyCharacter } from '#test/any-character.ts'
import { bench, entry, unwritable } from './samples.ts'

const UNAVAILABLE = { code: 'REGISTRO_NON_DISPONIBILE', statusCode: 503 }
const booking = {
  nome_cognome: 'Ada Prova',
  lingua: 'IT',
  paese_id: 380,
  check_in: '2026-11-21',
  check_out: '2026-11-24',
  numero_ospiti: 1
}

t.test('an entry is kept as it was given, with its number and the present time', async (t) => {
  const { audit, db, sql } = await bench(t)
  await audit.append(db, entry(1))
  await audit.append(db, { actor: 'sistema', action: 'email' })
  const rows = await sql`
    select id, abs(extract(epoch from now() - at)) < 60 as present,
      actor, action, object, ip, details, length(hash) as hash
    from audit_log order by id`
  t.same(rows, [
    {
      id: 1,
      present: true,
      actor: 'user:1',
      action: 'utente_modificato',
      object: 'user:1',
      ip: '192.0.2.7',
      details: { n: 1, campi: ['ruolo'] },
      hash: 32
    },
    { id: 2, present: true, actor: 'sistema', action: 'email', object: null, ip: null, details: {}, hash: 32 }
  ])
})

/** Text with what PostgreSQL does not hold, and with what JSON marks. */
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\0', '\ud800', '\udc00', '\u2028', '"', '\\'),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 })
  ),
  maxLength: 8
})
/**
 * Without what JSON escapes: after an object with the key `\\` V8 reads the key `"` as that (Node 24.21,
 * nodejs/node#63785).
 */
const names = fc.string({ unit: 'grapheme-ascii', maxLength: 4 }).filter((name) => !/["\\]/.test(name))
const numbers = fc.oneof(fc.double(), fc.maxSafeInteger(), fc.constantFrom(5e-324, 1.7e308, -0, 1e21))

t.test('the log stays intact with any content of an entry', async (t) => {
  const { audit, db, sql, keys } = await bench(t)
  const value = fc.oneof(text, numbers, fc.boolean(), fc.constant(null), fc.array(text, { maxLength: 3 }))
  const some: fc.Arbitrary<AuditEntry> = fc.record({
    actor: text,
    action: fc.constantFrom('accesso', 'sql'),
    object: text,
    ip: text,
    details: fc.dictionary(names, value, { maxKeys: 4 })
  }, { requiredKeys: ['actor', 'action'] })
  const given: AuditEntry[] = []
  await fc.assert(fc.asyncProperty(some, async (entry) => {
    given.push(entry)
    await audit.append(db, entry)
  }), { numRuns: 200 })
  const { prima_riga_errata: bad } = await verifyChain(db, keys, undefined)
  // What was given, and what is kept of it.
  const wrong = bad !== null && [given[bad - 1], await sql`select *, at::text as time from audit_log where id = ${bad}`]
  t.equal(bad, null, { wrong })
})

t.test(
  'fifty writers at once, of two processes, in transactions and without, some of which fail: one chain without a gap',
  async (t) => {
    const { audit, db, sql, url, keys, log } = await bench(t)
    const second = connect(url, 4)
    t.teardown(second.close)
    const writers = [
      { audit, db },
      { audit: auditLog(keys, log), db: second.db }
    ]
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, n) => {
        const { audit, db } = writers[n % 2]!
        if (n % 4 < 2) return audit.append(db, entry(n))
        return db.transaction(async (tx) => {
          await tx.insert(prenotazioni).values(booking)
          await audit.append(tx, entry(n))
          if (n % 5 === 0) throw new Error('given up')
        })
      })
    )
    const failed = outcomes.filter(({ status }) => status === 'rejected').length
    t.equal(failed, Array.from({ length: 50 }, (_, n) => n).filter((n) => n % 4 >= 2 && n % 5 === 0).length)
    const ids = (await sql<{ id: number }[]>`select id from audit_log order by id`).map(({ id }) => id)
    t.same(
      ids,
      Array.from({ length: 50 - failed }, (_, n) => n + 1)
    )
    t.same(await verifyChain(db, keys, undefined), { integro: true, righe: 50 - failed, prima_riga_errata: null })
    t.equal(
      (await sql<{ n: string }[]>`select distinct details->>'n' as n from audit_log`).length,
      50 - failed,
      'each wrote its own'
    )
  }
)

t.test('what is done in a transaction and its entry are there together or not at all', async (t) => {
  const { audit, db } = await bench(t)
  const both = (end: () => void) => db.transaction(async (tx) => {
    await tx.insert(prenotazioni).values(booking)
    await audit.append(tx, entry(1))
    end()
  })
  const counts = async () => [await db.$count(prenotazioni), await db.$count(query`audit_log`)]
  await t.rejects(both(() => { throw new Error('given up') }), { message: 'given up' })
  t.same(await counts(), [0, 0])
  await both(() => {})
  t.same(await counts(), [1, 1])
})

t.test(
  'an entry that cannot be written takes its transaction with it, even if somebody swallows the error',
  async (t) => {
    const { audit, db, sql, logs } = await bench(t)
    const writable = await unwritable(sql)
    await t.rejects(audit.append(db, entry(1)), UNAVAILABLE)
    await t.rejects(
      db.transaction(async (tx) => {
        await tx.insert(prenotazioni).values(booking)
        await audit.append(tx, entry(1))
      }),
      UNAVAILABLE
    )
    await t.rejects(
      db.transaction(async (tx) => {
        await tx.insert(prenotazioni).values(booking)
        await audit.append(tx, entry(1)).catch(() => {})
      })
    )
    t.equal(await db.$count(prenotazioni), 0)
    t.ok(
      logs.every(({ level, action }) => level === 50 && action === 'utente_modificato') && logs.length === 3,
      'the log says why'
    )
    await writable()
    await audit.append(db, entry(1))
  }
)

t.test('a log that is gone, a lock that is not to be had, a number that is taken: 503, all of them', async (t) => {
  const { audit, db, sql } = await bench(t)
  await sql`alter table audit_log rename to altrove`
  await t.rejects(audit.append(db, entry(1)), UNAVAILABLE)
  await sql`alter table altrove rename to audit_log`

  await db.transaction(async (holder) => {
    await audit.append(holder, entry(1))
    await t.rejects(db.transaction(async (tx) => {
      await tx.execute(query`set local lock_timeout = '1ms'`)
      await audit.append(tx, entry(2))
    }), UNAVAILABLE)
  })

  await t.rejects(db.transaction(async (tx) => {
    // From here on this transaction sees nothing of what others commit: the number it counts is taken.
    await tx.execute(query`select`)
    await audit.append(db, entry(3))
    await audit.append(tx, entry(4))
  }, { isolationLevel: 'repeatable read' }), UNAVAILABLE)
  t.equal(await db.$count(query`audit_log`), 2)
})
