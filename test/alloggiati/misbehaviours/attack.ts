import type { Test } from 'tap'
import type { State } from '#schemas/submission.ts'
import { sweep } from '#src/alloggiati/ledger/sweep.ts'
import { expire, ledgerOf } from '#test/alloggiati/ledger/context.ts'
import { twice } from '#test/alloggiati/oracle.ts'
import { guestNo, invio, production, standIn, type StandIn } from '#test/alloggiati/stand-in.ts'
import type { TestApp } from '#test/helper.ts'
import { behave, misbehave, type Attacked } from './police.ts'
import { MISBEHAVIOURS, type Misbehaviour } from './table.ts'

/** Timeout of the client. Long enough to commit a dispatch on a busy machine. */
const TIMEOUT_MS = 2500
/** More than one packet, so that a request can be interrupted in the middle. */
const MANY_ROWS = 400

/** For each verdict the expected row outcomes, the outcome of the last attempt, and the response to the caller. */
const EXPECTED: Partial<Record<State, { righe: string[]; tentativo: string; body: object }>> = {
  acquisito: { righe: ['acquisita'], tentativo: 'K', body: { success: true } },
  parziale: {
    righe: ['acquisita', 'rifiutata'],
    tentativo: 'K',
    body: { success: false, status: 422, codice: 'SCHEDINE_RIFIUTATE' }
  },
  rifiutato: {
    righe: ['rifiutata'], tentativo: 'N', body: { success: false, status: 422, codice: 'SCHEDINE_RIFIUTATE' }
  },
  non_inviato: { righe: ['non_inviata'], tentativo: 'N', body: { success: false, status: 422 } },
  sconosciuto: {
    righe: ['sconosciuta'],
    tentativo: '?',
    body: { success: false, status: 422, codice: 'ESITO_SCONOSCIUTO', dettagli: { codice_errore: 'ESITO_SCONOSCIUTO' } }
  }
}

/** Makes the police service misbehave in every way at one operation, and sends each guest a second time. */
export async function attack (t: Test, operation: Attacked): Promise<void> {
  for (const slow of [false, true]) {
    const police = await standIn(t)
    const server = await production(t, police, {}, slow ? { times: { soapTimeoutMs: TIMEOUT_MS } } : {})
    const chosen = MISBEHAVIOURS.filter(
      (each) => (each.slow ?? false) === slow && !(each.rows && operation === 'GenerateToken')
    )
    let next = 0
    for (const misbehaviour of chosen) {
      await t.test(`a police service that ${misbehaviour.name}`, async (t) => {
        // A login has no rows that could make its request longer.
        const isCutOff = misbehaviour.when === 'first-byte' && operation !== 'GenerateToken'
        const guests = Array.from({ length: isCutOff ? MANY_ROWS : 2 }, () => guestNo(next++))
        await checkVerdict(t, { police, server, operation, misbehaviour, body: (some = guests) => invio(some), guests })
      })
    }
    await t.test('no submission is resent automatically, and no guest is acquired twice', async (t) => {
      const before = police.acquired()
      await expire(server)
      await sweep(await ledgerOf(server, police))
      t.same(police.acquired(), before)
      t.same(twice(before), [])
    })
  }
}

interface Case {
  police: StandIn
  server: TestApp
  operation: Attacked
  misbehaviour: Misbehaviour
  guests: object[]
  body (guests?: object[]): object
}

async function checkVerdict (t: Test, one: Case): Promise<void> {
  const { police, server: { app, call, logs }, operation, misbehaviour, body, guests } = one
  await misbehave(police, operation, misbehaviour, guests.length)
  const before = { acquired: police.acquired().length, startedCalls: police.startedCalls.length }
  const answered = (await call('POST', '/api/alloggiati/invio', body())).json()
  const { ricevuta } = answered

  const [written] = await app.sql`
    select i.id, i.stato, i.tentativo,
      (select json_agg(distinct esito order by esito) from invii_schedine s where s.invio_id = i.id) as righe,
      (select e.esito from invii_esiti e where e.invio_id = i.id) as esito
    from invii i where ricevuta = ${ricevuta}`
  const { id, stato, tentativo, righe, esito } = written as {
    id: number
    stato: State
    tentativo: number
    righe: string[]
    esito: string | null
  }
  const expected = EXPECTED[stato]!
  t.ok(verdictOf(operation, misbehaviour).includes(stato), `${stato} is a correct verdict`)
  t.match(answered, {
    ...expected.body,
    ...(stato === 'non_inviato'
      ? { codice: causeOf(misbehaviour), dettagli: { codice_errore: causeOf(misbehaviour) } }
      : {})
  })
  t.same(righe, expected.righe)
  t.equal(esito, tentativo === 0 ? null : expected.tentativo, 'each attempt has its outcome')
  t.equal(
    logs.some((line) => line.level === 50 && line.invio === id && line.ricevuta === ricevuta),
    stato === 'sconosciuto',
    'an unknown outcome raises an alarm'
  )
  const sent = police.startedCalls.slice(before.startedCalls).includes('Send')
  if (stato === 'non_inviato' && operation !== 'Send') t.notOk(sent, 'no byte of a Send was written')
  if (tentativo === 0) t.notOk(sent, 'each Send has an earlier committed attempt')

  const acquired = police.acquired().length - before.acquired
  if (stato === 'acquisito') t.equal(acquired, guests.length)
  if (stato === 'parziale') t.equal(acquired, 1)
  if (stato === 'non_inviato' || stato === 'rifiutato') t.equal(acquired, 0, 'no guest was acquired')
  await sendAgain(t, one, { stato, ricevuta, acquired: before.acquired })
}

/** Sends the same guests again, while the police service responds correctly. */
async function sendAgain (
  t: Test, { police, server: { call }, body, guests }: Case, first: { stato: State, ricevuta: string, acquired: number }
): Promise<void> {
  await behave(police)
  const sends = police.callsOf('Send').length
  const second = await call('POST', '/api/alloggiati/invio', body())
  const free = first.stato === 'non_inviato' || first.stato === 'rifiutato'
  if (free) {
    t.equal(second.statusCode, 200)
    t.not(second.json().ricevuta, first.ricevuta)
  } else {
    const taken = first.stato === 'parziale' ? [0] : guests.map((_, at) => at)
    t.match(second.json(), { status: 409, codice: 'SCHEDINE_GIA_INVIATE', ricevuta: first.ricevuta, ospiti: taken })
    t.equal(police.callsOf('Send').length, sends)
  }
  if (first.stato === 'parziale') {
    const rest = await call('POST', '/api/alloggiati/invio', body(guests.slice(1)))
    t.equal(rest.statusCode, 200, 'the refused guest can be corrected')
  }
  const mine = police.acquired().slice(first.acquired)
  t.same(twice(mine), [], 'no guest was acquired twice')
  if (first.stato !== 'sconosciuto') t.equal(mine.length, guests.length, 'no guest is missing')
}

/** The expected states. After an unusable login or test call, nothing was sent. */
function verdictOf (operation: Attacked, { verdict, rows }: Misbehaviour): readonly State[] {
  const usable = verdict[0] === 'acquisito' || (rows && (verdict[0] === 'rifiutato' || verdict[0] === 'parziale'))
  return operation === 'Send' || usable ? verdict : ['non_inviato']
}

function causeOf ({ name, rows, verdict }: Misbehaviour): string {
  if (/^refuses (?:the|an expired) (?:token|account)/.test(name)) return 'CREDENZIALI_RIFIUTATE'
  return rows && verdict[0] === 'non_inviato' ? 'RIFIUTATO_DAL_SERVIZIO' : 'SERVIZIO_NON_RAGGIUNGIBILE'
}
