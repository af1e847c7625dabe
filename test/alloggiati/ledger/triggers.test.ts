import type postgres from 'postgres'
import t from 'tap'
import {
  FINAL_ATTEMPT_OUTCOMES, IN_FLIGHT_STATES, LIVE_ROW_OUTCOMES, type State, STATES, UNFINISHED_STATES
} from '#schemas/submission.ts'
import { type Evidence, TRANSITIONS } from './model/transitions.ts'
import { testDatabase } from '#test/database.ts'
import { brokenLinks } from './chain.ts'

/* The rules that database triggers enforce for every program that writes. */

/** A connection or a transaction. */
type Sql = postgres.ISql<{}>
const states = Object.keys(STATES) as State[]
const ACCOUNT = 'RM000001'

/** For each kind of evidence, a function that writes it for a submission. */
const GIVE: Readonly<Record<Evidence, (sql: Sql, id: number) => Promise<unknown>>> = {
  tentativo_aperto: (sql, id) => attempt(sql, id, 2),
  esito_K: (sql, id) => outcome(sql, id, 'K'),
  esito_N: (sql, id) => outcome(sql, id, 'N'),
  tutti_N: (sql, id) => outcome(sql, id, 'N'),
  reinvia: (sql, id) => decision(sql, id, 'reinvia'),
  depositato: (sql, id) => decision(sql, id, 'depositato'),
  annulla: (sql, id) => decision(sql, id, 'annulla'),
  ricevuta: async (sql, id) => {
    await outcome(sql, id, 'K')
    await sql`
      insert into ricevute (utente, giorno, pdf, sha256)
      values (${ACCOUNT}, '2026-11-21', 'x', 'x') on conflict do nothing`
  }
}

/** For each kind, evidence that is almost correct and must be refused. */
const NEARLY: Readonly<Record<Evidence, readonly ((sql: Sql, id: number) => Promise<unknown>)[]>> = {
  // An attempt with an outcome is not open.
  tentativo_aperto: [async (sql, id) => {
    await attempt(sql, id, 2)
    await sql`insert into invii_esiti (invio_id, numero, esito, fonte) values (${id}, 2, 'N', 'risposta')`
  }],
  esito_K: [(sql, id) => outcome(sql, id, '?'), (sql, id) => outcome(sql, id, 'N')],
  esito_N: [(sql, id) => outcome(sql, id, '?'), (sql, id) => outcome(sql, id, 'K')],
  tutti_N: [(sql, id) => outcome(sql, id, '?'), (sql, id) => outcome(sql, id, 'K'), async (sql, id) => {
    // The current attempt was not acquired, but the outcome of an earlier one is unknown.
    await outcome(sql, id, 'N')
    await attempt(sql, id, 0)
  }],
  reinvia: [(sql, id) => decision(sql, id, 'annulla'), (sql, id) => decision(sql, id, 'reinvia', -1)],
  depositato: [(sql, id) => decision(sql, id, 'reinvia'), (sql, id) => decision(sql, id, 'depositato', -1)],
  annulla: [(sql, id) => decision(sql, id, 'reinvia'), (sql, id) => decision(sql, id, 'annulla', -1)],
  ricevuta: [
    (sql, id) => outcome(sql, id, 'K'),
    async (sql, id) => {
      await outcome(sql, id, 'K')
      await sql`
        insert into ricevute (utente, giorno, pdf, sha256)
        values (${ACCOUNT}, '2026-11-20', 'x', 'x'), ('RM000002', '2026-11-21', 'x', 'x') on conflict do nothing`
    }
  ]
}

/** Shared by the tests after which no submission is in flight. */
const shared = await testDatabase(t)

t.test('the database allows exactly the transitions of the table', async (t) => {
  const { sql } = shared
  const kept = await sql<
    { da: State; a: State; serve: string | null }[]
  >`select da, a, serve from invii_transizioni_ammesse`
  const key = ({ da, a, serve }: { da: string, a: string, serve?: string | null }) => `${da} -> ${a}: ${serve ?? ''}`
  t.same(kept.map(key).sort(), TRANSITIONS.map(key).sort())
})

t.test(
  'every transition of the table needs its evidence, and every other transition is refused',
  async (t) => {
    const { sql } = shared
    const everything = async (tx: Sql, id: number) => {
      await GIVE.ricevuta(tx, id)
      await GIVE.reinvia(tx, id)
      await GIVE.tentativo_aperto(tx, id)
    }
    let allowed = 0
    for (const da of states) {
      for (const a of states.filter((state) => state !== da)) {
        const transition = TRANSITIONS.find((each) => each.da === da && each.a === a)
        const change = `${da} -> ${a}`
        if (transition === undefined) {
          t.match(await refusal(sql, da, a, everything), /transizione non ammessa/, change)
          continue
        }
        allowed++
        const { serve } = transition
        t.equal(
          await refusal(sql, da, a, serve === undefined ? undefined : GIVE[serve]),
          undefined,
          `${change} is allowed`
        )
        if (serve === undefined) continue
        t.match(await refusal(sql, da, a), /transizione senza prova/, `${change} without ${serve}`)
        for (const nearly of NEARLY[serve]) {
          t.match(
            await refusal(sql, da, a, nearly),
            /transizione senza prova/,
            `${change} with evidence almost like ${serve}`
          )
        }
      }
    }
    t.equal(allowed, TRANSITIONS.length)
  }
)

t.test('a new submission is ready, with the first version', async (t) => {
  const { sql } = shared
  for (const stato of states.filter((state) => state !== 'pronto')) {
    await t.rejects(submission(sql, stato), { code: 'LC001' }, stato)
  }
  await t.rejects(submission(sql, 'pronto', { versione: 3 }), { code: 'LC001' })
  await t.rejects(submission(sql, 'pronto', { tentativo: 1 }), { code: 'LC001' })
  await t.resolves(submission(sql, 'pronto'))
})

t.test('the facts of a submission do not change, and its version and attempt change only with its state', async (t) => {
  const { sql } = shared
  const id = await submission(sql)
  const changes = [
    "ricevuta = 'altra'", "utente = 'altro'", "operatore = 'altro'", "metodo = 'altro'", 'id_appartamento = 9',
    'prenotazione_id = 9', "data_arrivo = '2026-11-22'", 'permanenza = 9', "scadenza = now() + interval '1 day'",
    "creato_il = now() + interval '1 day'", 'versione = 9', 'tentativo = 9'
  ]
  for (const change of changes) {
    await t.rejects(sql.unsafe(`update invii set ${change} where id = ${id}`), { code: 'LC002' }, change)
  }
  for (const change of changes) {
    await t.rejects(
      sql.unsafe(`update invii set stato = 'preso', ${change} where id = ${id}`),
      { code: 'LC002' },
      change
    )
  }
  await t.resolves(sql`update invii set nota = 'altra', lease_fino_al = now(), proprietario = 'prova' where id = ${id}`)
})

t.test('a decision is valid for one version, and each version has at most one', async (t) => {
  const { sql } = shared
  const id = await placed(sql, 'da_verificare')
  await GIVE.reinvia(sql, id)
  await t.rejects(GIVE.reinvia(sql, id), { code: '23505' })
  await sql`update invii set stato = 'pronto' where id = ${id}`
  await sql`update invii set stato = 'da_verificare' where id = ${id}`
  await t.rejects(sql`update invii set stato = 'pronto' where id = ${id}`, { code: 'LC001' })
})

t.test('no row of the ledger is deleted, no table truncated, and no row of its history changed', async (t) => {
  const { sql } = await testDatabase(t)
  const id = await placed(sql, 'da_verificare')
  await GIVE.ricevuta(sql, id)
  await GIVE.reinvia(sql, id)
  await sql`insert into ricevute_letture (utente, giorno) values (${ACCOUNT}, '2026-11-21')`
  await sql`
    insert into invii_schedine (invio_id, indice, capo, utente, riga, permanenza, impronta_identita,
      impronta_persona, esito)
    values (${id}, 0, 0, ${ACCOUNT}, 'x', 3, 'x', 'x', 'in_corso')`
  const columns: Record<string, string | undefined> = {
    invii_tentativi: 'schedine = 0',
    invii_esiti: 'esito = \'N\'',
    invii_transizioni: 'perche = \'altro\'',
    invii_decisioni: 'motivo = \'altro\'',
    ricevute: 'pdf = \'altro\'',
    ricevute_letture: 'notti = 0',
    invii: undefined,
    invii_schedine: undefined
  }
  for (const [table, change] of Object.entries(columns)) {
    t.ok((await sql.unsafe(`select from ${table}`)).length > 0, `${table} has rows`)
    if (change !== undefined) {
      await t.rejects(sql.unsafe(`update ${table} set ${change}`), { code: 'LC003' }, `update ${table}`)
    }
    await t.rejects(sql.unsafe(`delete from ${table}`), { code: 'LC003' }, `delete from ${table}`)
    await t.rejects(sql.unsafe(`truncate ${table} cascade`), { code: 'LC003' }, `truncate ${table}`)
  }
})

t.test('an attempt has one final outcome at most', async (t) => {
  const { sql } = await testDatabase(t)
  const id = await placed(sql, 'in_invio')
  await outcome(sql, id, '?')
  await outcome(sql, id, 'K')
  await t.rejects(outcome(sql, id, 'N'), { code: '23505' })
  await t.rejects(outcome(sql, id, 'K'), { code: '23505' })
  await t.rejects(
    sql`insert into invii_esiti (invio_id, numero, esito, fonte) values (${id}, 7, 'K', 'risposta')`,
    { code: '23503' },
    'an outcome needs its attempt'
  )
})

t.test('an account has at most one submission in flight, and any number in a test call', async (t) => {
  const { sql } = await testDatabase(t)
  await placed(sql, 'in_invio')
  const other = await submission(sql)
  await sql`update invii set stato = 'preso' where id = ${other}`
  const fly = async (id: number) => {
    await sql`
      insert into invii_tentativi select id, 1, 'primo', now(), now(), now(), now(), 1, 3, 'x'
      from invii where id = ${id}`
    await sql`update invii set stato = 'in_invio', tentativo = 1 where id = ${id}`
  }
  await t.rejects(fly(other), { code: '23505', constraint_name: 'invii_un_volo' })
  const elsewhere = await submission(sql, 'pronto', { utente: 'RM000002' })
  await sql`update invii set stato = 'preso' where id = ${elsewhere}`
  await t.resolves(fly(elsewhere))
})

t.test('the chain contains every change with author and reason, and its hashes can be computed again', async (t) => {
  const { sql } = await testDatabase(t)
  const ids = await Promise.all(Array.from({ length: 6 }, () => submission(sql)))
  await sql.begin(async (tx) => {
    await tx`
      select set_config('locanda.chi', 'chi «prova» | [1]', true),
        set_config('locanda.perche', E'perché: \\"così\\", \\\\ 1\\n2', true)`
    await tx`update invii set stato = 'preso' where id = ${ids[0]!}`
  })
  await Promise.allSettled(ids.slice(1).map((id) => sql`update invii set stato = 'da_verificare' where id = ${id}`))
  await sql.begin(async (tx) => {
    await tx`update invii set stato = 'pronto' where id = ${ids[0]!}`
    throw new Error('no')
  }).catch(() => {})
  t.same(await brokenLinks(sql), [])
  t.equal((await sql`select from invii_transizioni`).length, 12, 'a rollback leaves no gap')
  t.match(await sql`select da, a, chi, perche from invii_transizioni where a = 'preso'`, [
    { da: 'pronto', a: 'preso', chi: /«prova»/, perche: /così/ }
  ])
})

let next = 0
async function submission (
  sql: Sql,
  stato = 'pronto',
  { utente = ACCOUNT, versione = 0, tentativo = 0 } = {}
): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    insert into invii (
      ricevuta, utente, operatore, metodo, data_arrivo, permanenza, scadenza, stato, versione, tentativo, lease_fino_al
    ) values (
      ${`AW-20261121-${++next}`}, ${utente}, 'prova', 'Send', '2026-11-21', 3, now(), ${stato}, ${versione},
      ${tentativo}, now()
    ) returning id`
  return row!.id
}

/** Inserts a submission in any state with one attempt of unknown outcome. The triggers are disabled. */
async function placed (sql: Sql, stato: State): Promise<number> {
  const id = await submission(sql)
  await attempt(sql, id, 1)
  await sql`alter table invii disable trigger user`
  await sql`update invii set stato = ${stato}, tentativo = 1, versione = 5 where id = ${id}`
  await sql`alter table invii enable trigger user`
  return id
}

function attempt (sql: Sql, id: number, numero: number): Promise<unknown> {
  return sql`
    insert into invii_tentativi (
      invio_id, numero, base, inviato_il, consegna_entro, giorno_da, giorno_a, schedine, notti, impronta_richiesta
    ) values (${id}, ${numero}, 'primo', now(), now(), '2026-11-21', '2026-11-21', 1, 3, 'x')`
}

function decision (sql: Sql, id: number, decisione: string, off = 0): Promise<unknown> {
  return sql`
    insert into invii_decisioni (invio_id, versione, decisione, chi, motivo)
    select id, versione + ${off}::int, ${decisione}, 'prova', 'prova' from invii where id = ${id}`
}

function outcome (sql: Sql, id: number, esito: string): Promise<unknown> {
  return sql`insert into invii_esiti (invio_id, numero, esito, fonte) values (${id}, 1, ${esito}, 'risposta')`
}

/**
 * The database's error for a transition with the given evidence. Undefined if the transition is allowed. It rolls back.
 */
async function refusal (
  sql: postgres.Sql,
  da: State,
  a: State,
  beside?: (sql: Sql, id: number) => Promise<unknown>
): Promise<string | undefined> {
  let said: string | undefined
  await sql
    .begin(async (tx) => {
      const id = await placed(tx, da)
      const tentativo = da === 'preso' && a === 'in_invio' ? 2 : 1
      await beside?.(tx, id)
      await tx
        .savepoint((point) => point`update invii set stato = ${a}, tentativo = ${tentativo} where id = ${id}`)
        .catch((err: unknown) => {
          said = err instanceof Error ? err.message : String(err)
        })
      throw new Error('rolled back')
    })
    .catch((err: unknown) => {
      if (!(err instanceof Error) || err.message !== 'rolled back') throw err
    })
  return said
}

/** The states and outcomes in the predicate of each partial index. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  invii_aperti: UNFINISHED_STATES,
  invii_un_volo: IN_FLIGHT_STATES,
  invii_schedine_una_volta: LIVE_ROW_OUTCOMES,
  invii_schedine_una_persona: LIVE_ROW_OUTCOMES,
  invii_schedine_un_documento: LIVE_ROW_OUTCOMES,
  invii_esiti_definitivo: FINAL_ATTEMPT_OUTCOMES
}

t.test('the partial indexes of the migrated database name exactly the states and outcomes of the code', async (t) => {
  const { sql } = shared
  const found = await sql<{ name: string, predicate: string }[]>`
    select c.relname as name, pg_get_expr(i.indpred, i.indrelid) as predicate
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indpred is not null and c.relname like 'invii%'`
  const words = found.map(({ name, predicate }) => [name, [...predicate.matchAll(/'([^']+)'/g)].map(([, word]) => word)])
  t.same(Object.fromEntries(words), { ...WORDS, invii_sospensioni_aperta: [] })
})
