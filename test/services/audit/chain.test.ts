import { sql as query, TransactionRollbackError } from 'drizzle-orm'
import fc from 'fast-check'
import t from 'tap'
import { prenotazioni } from '#drizzle/tables/bookings.ts'
import { type AuditEntry, auditLog } from '#src/services/audit/log.ts'
import { verifyChain } from '#src/services/audit/verify.ts'
import { connect, type Database, type Transaction } from '#src/database/connect.ts'
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

t.test('an entry is stored unchanged, with its number and the current time', async (t) => {
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

/** Text with characters that PostgreSQL cannot store and that JSON escapes. */
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\0', '\ud800', '\udc00', '\u2028', '"', '\\'),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 })
  ),
  maxLength: 8
})

/**
 * Without characters that JSON escapes, because after an object with the key `\\` V8 misreads the key `"` (Node 24.21,
 * nodejs/node#63785).
 */
const names = fc.string({ unit: 'grapheme-ascii', maxLength: 4 }).filter((name) => !/["\\]/.test(name))

const numbers = fc.oneof(fc.double(), fc.maxSafeInteger(), fc.constantFrom(5e-324, 1.7e308, -0, 1e21))

t.test('the log stays intact with any content of an entry', async (t) => {
  const { audit, db, sql } = await bench(t)
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
  const { prima_riga_errata: bad } = await verifyChain(db, undefined)
  // The given and the stored value.
  const wrong = bad !== null && [given[bad - 1], await sql`select *, at::text as time from audit_log where id = ${bad}`]
  t.equal(bad, null, { wrong })
})

t.test(
  'fifty concurrent writers with two connection pools, some rolled back, make one chain without gaps',
  async (t) => {
    const { audit, db, sql, url, log } = await bench(t)
    const second = connect(url, 4)
    t.teardown(second.close)
    const writers = [
      { audit, db },
      { audit: auditLog(log), db: second.db }
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
    t.same(ids, Array.from({ length: 50 - failed }, (_, n) => n + 1))
    t.same(await verifyChain(db, undefined), { integro: true, righe: 50 - failed, prima_riga_errata: null })
    t.equal(
      (await sql<{ n: string }[]>`select distinct details->>'n' as n from audit_log`).length,
      50 - failed,
      'each wrote its own'
    )
  }
)

t.test('a change and its entry commit together, or neither commits', async (t) => {
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
  'an entry that cannot be written aborts its transaction, even if the error is caught',
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

t.test('a missing log table, a lock timeout or a duplicate number is answered with a 503', async (t) => {
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
    // From here on this transaction does not see later commits, so that its next number is a duplicate.
    await tx.execute(query`select`)
    await audit.append(db, entry(3))
    await audit.append(tx, entry(4))
  }, { isolationLevel: 'repeatable read' }), UNAVAILABLE)
  t.equal(await db.$count(query`audit_log`), 2)
})

const shift = (from: number, by: number) =>
  `update audit_log set id = -id where id >= ${from}; update audit_log set id = ${by} - id where id < 0;`

const swap =
  'update audit_log set id = case id when 4 then -5 else -4 end where id in (4, 5); ' +
  'update audit_log set id = -id where id < 0;'

/** Changes in a log of eight rows, with the triggers disabled, and the row that verification reports. */
const FORGERIES: [name: string, change: string, first: number][] = [
  ['another author', "update audit_log set actor = 'altri' where id = 4", 4],
  ['another action', "update audit_log set action = 'uscita' where id = 4", 4],
  ['another object', "update audit_log set object = 'user:9' where id = 4", 4],
  ['no object', 'update audit_log set object = null where id = 4', 4],
  ['another address', "update audit_log set ip = '192.0.2.8' where id = 4", 4],
  ['another time, by a millisecond', "update audit_log set at = at + interval '1 millisecond' where id = 4", 4],
  ['an infinite time', "update audit_log set at = 'infinity' where id = 4", 4],
  ['other details', "update audit_log set details = jsonb_set(details, '{n}', '5') where id = 4", 4],
  ['one detail more', 'update audit_log set details = details || \'{"x": null}\' where id = 4', 4],
  ['details of another kind', "update audit_log set details = 'null' where id = 4", 4],
  ['another hash', "update audit_log set hash = sha256('altro') where id = 4", 4],
  ['a shorter hash', 'update audit_log set hash = substr(hash, 1, 16) where id = 4', 4],
  ['the last row altered', "update audit_log set actor = 'altri' where id = 8", 8],
  ['two rows altered', "update audit_log set actor = 'altri' where id in (3, 6)", 3],
  ['the first row taken out', 'delete from audit_log where id = 1', 1],
  ['a row taken out', 'delete from audit_log where id = 4', 4],
  ['a row taken out and the gap closed', `delete from audit_log where id = 4; ${shift(5, -1)}`, 4],
  [
    'a row put in',
    `${shift(4, 1)} insert into audit_log ` +
      'select 4, at, actor, action, object, ip, details, hash from audit_log where id = 3',
    4
  ],
  [
    'a row put in before the first',
    'insert into audit_log select 0, at, actor, action, object, ip, details, hash from audit_log where id = 1', 0
  ],
  [
    'a row put at the end',
    'insert into audit_log select 9, at, actor, action, object, ip, details, hash from audit_log where id = 8', 9
  ],
  [
    'a row put far behind the end',
    'insert into audit_log select 2147483647, at, actor, action, object, ip, details, hash from audit_log where id = 8',
    9
  ],
  ['two rows exchanged', swap, 4],
  [
    "two rows' contents exchanged, each under its hash",
    'update audit_log a set actor = b.actor from audit_log b where (a.id, b.id) in ((4, 5), (5, 4))', 4
  ],
  ['the end cut off', 'delete from audit_log where id > 6', 7],
  [
    'the end cut off, and something else put in its place',
    'delete from audit_log where id > 6; insert into audit_log ' +
      'select 8, at, actor, action, object, ip, details, hash from audit_log where id = 6',
    7
  ],
  ['everything taken out', 'delete from audit_log', 1],
  ['emptied', 'truncate audit_log', 1]
]

/** Runs a check after a change with the triggers disabled, and rolls the change back. */
async function undone<T> (db: Database, change: string, look: (tx: Transaction) => Promise<T>): Promise<T | undefined> {
  let found: T | undefined
  await db.transaction(async (tx) => {
    await tx.execute(query.raw(`alter table audit_log disable trigger all; ${change}`))
    found = await look(tx)
    tx.rollback()
  }).catch((err: unknown) => { if (!(err instanceof TransactionRollbackError)) throw err })
  return found
}

t.test('a log of eight rows', async (t) => {
  const { audit, db, sql } = await bench(t)
  for (let n = 1; n <= 8; n++) await audit.append(db, entry(n))
  const [{ hash } = { hash: Buffer.of() }] = await sql<{ hash: Buffer }[]>`select hash from audit_log where id = 8`
  const end = { id: 8, hash: hash.toString('hex') }

  t.test('is intact after it was written', async (t) => {
    t.same(await verifyChain(db, end), { integro: true, righe: 8, prima_riga_errata: null })
    t.same(await verifyChain(db, undefined), { integro: true, righe: 8, prima_riga_errata: null })
  })

  t.test('cannot be changed, truncated or emptied while the triggers are enabled', async (t) => {
    for (const change of ["update audit_log set actor = 'altri'", 'delete from audit_log', 'truncate audit_log']) {
      await t.rejects(sql.unsafe(change), { code: 'LC003' }, change)
    }
  })

  for (const [name, change, first] of FORGERIES) {
    t.test(`detects tampering: ${name}`, async (t) => {
      t.match(await undone(db, change, (tx) => verifyChain(tx, end)), {
        integro: false,
        prima_riga_errata: first
      })
    })
  }

  t.test(
    'restored from an older copy and extended, does not match the noted last row',
    async (t) => {
      t.match(
        await undone(db, 'delete from audit_log where id > 6; alter table audit_log enable trigger all', async (tx) => {
          for (let n = 7; n <= 10; n++) await audit.append(tx, entry(n))
          t.match(await verifyChain(tx, undefined), { integro: true }, 'the log is otherwise intact')
          return verifyChain(tx, end)
        }),
        { integro: false, righe: 10, prima_riga_errata: 8 }
      )
    }
  )
})

t.test('verification covers a log of several batches', async (t) => {
  const { db } = await bench(t)
  await db.execute(query`insert into audit_log (actor, action) select 'sistema', 'email' from generate_series(1, 3000)`)
  t.same(
    await verifyChain(db, undefined),
    { integro: true, righe: 3000, prima_riga_errata: null },
    'a whole number of batches'
  )
  for (const id of [1000, 1001, 2000, 3000]) {
    const found = await undone(db, `update audit_log set actor = 'altri' where id = ${id}`, (tx) =>
      verifyChain(tx, undefined)
    )
    t.same(found, { integro: false, righe: 3000, prima_riga_errata: id })
  }
  t.same(await verifyChain(db, { id: 3001, hash: '' }), { integro: false, righe: 3000, prima_riga_errata: 3001 })
})

t.test('an empty log is intact unless a last row was noted', async (t) => {
  const { db } = await bench(t)
  t.same(await verifyChain(db, undefined), { integro: true, righe: 0, prima_riga_errata: null })
  t.same(await verifyChain(db, { id: 2, hash: '' }), { integro: false, righe: 0, prima_riga_errata: 1 })
})
