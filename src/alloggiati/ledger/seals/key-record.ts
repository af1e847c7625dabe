import { sql } from 'drizzle-orm'
import { registro_chiave as records } from '#drizzle/tables/ledger.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database, Executor } from '#src/plugins/database/connect.ts'

/** Whose key a ledger is sealed with. */
export interface KeyRecord {
  /** The first link of the chain that may have been made with the key. */
  firstLink: number
  /** When the first server with a key began, in milliseconds. */
  since: number
}

/** The record of the ledger's key; undefined where there is none, or where another key wrote it. */
export async function readKeyRecord (db: Executor, keys: Keys): Promise<KeyRecord | undefined> {
  const [found] = await db.select().from(records)
  if (!found) return undefined
  const record = { firstLink: found.primo_anello, since: Date.parse(found.quando) }
  return fingerprintOf(keys, record).equals(found.impronta) ? record : undefined
}

/** Whether it is written down whose key the ledger is sealed with. */
export async function isRecorded (db: Executor): Promise<boolean> {
  return await db.$count(records) > 0
}

/** Writes down whose key the ledger is sealed with. Of several servers one is the first. */
export async function recordKey (db: Database, keys: Keys): Promise<void> {
  const record = await beginning(db)
  await db.insert(records).values({
    primo_anello: record.firstLink,
    quando: new Date(record.since).toISOString(),
    impronta: fingerprintOf(keys, record)
  }).onConflictDoNothing()
}

/**
 * Now, and the link that comes next. Where the record was taken away, links with the key are there already: the first
 * of them is found again. Once in the life of a ledger, so it may take its time.
 */
function beginning (db: Database): Promise<KeyRecord> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`set local statement_timeout = 0`)
    const [found] = await tx.execute<{ first: number, since: number }>(sql`
      select floor(extract(epoch from now()) * 1000)::float8 as since, coalesce(
        (select min(t.id) from invii_transizioni t left join invii_transizioni p on p.id = t.id - 1
          where case
            when t.hash = invii_hash(p.hash, t.id, t.invio_id, t.da, t.a, t.chi, t.perche, t.quando) then false
            else t.hash = sigillo_di(testo_dell_anello(
              p.hash, t.id, t.invio_id, t.da, t.a, t.chi, t.perche, t.quando, case when t.da is not null
                then (select count(*)::int from invii_schedine s where s.invio_id = t.invio_id) end)) end),
        (select max(id) + 1 from invii_transizioni), 1) as first`)
    return { firstLink: found!.first, since: found!.since }
  })
}

function fingerprintOf (keys: Keys, { firstLink, since }: KeyRecord): Buffer {
  return keys.fingerprint('ledger/key', String(firstLink), String(since))
}
