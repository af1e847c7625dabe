import Fastify from 'fastify'
import { randomBytes } from 'node:crypto'
import { asc, eq, sql } from 'drizzle-orm'
import type { Test } from 'tap'
import { sandbox_schedine } from '#drizzle/tables/alloggiati.ts'
import { invii, invii_esiti, invii_schedine, invii_tentativi } from '#drizzle/tables/ledger.ts'
import { alarmNotifier } from '#src/alloggiati/ledger/alarms/alarm-notifier.ts'
import { noUnits } from './context.ts'
import { SendQueue, ledgerChainHead, type LedgerContext } from '#src/alloggiati/ledger/ledger-context.ts'
import { serverTimeline } from '#src/alloggiati/ledger/timeline.ts'
import { LEASE, move, moveRows } from '#src/alloggiati/ledger/moves.ts'
import { receiptArchive } from '#src/alloggiati/receipts/receipt-archive.ts'
import { policeService } from '#src/alloggiati/service/police-service.ts'
import { readConfig } from '#src/config/config.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { auditLog } from '#src/services/audit/log.ts'
import type { Executor } from '#src/database/connect.ts'
import type { Mail } from '#src/services/mail/queue.ts'
import { dayInRome } from '#src/lib/time.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { testDatabase } from '#test/database.ts'
import { temporaryFolder } from '#test/helper.ts'

/*
 * A ledger with history: submissions after their calls, and the rows that the police has acquired.
 */

export interface Sent {
  /** The time of the call, in ISO 8601. */
  at: string
  rows?: number
  nights?: number
  /** The outcome that the ledger saw: a reply, or no reply (`?`). */
  seen: 'K' | 'N' | '?'
  /** The number of rows that the police acquired. By default it agrees with `seen`. */
  taken?: number
  /** Seconds from the dispatch to the reply. */
  repliedAfter?: number
  /** Further rows, which were excluded after the test call. */
  held?: number
}

export async function ledgerWithHistory (t: Test, present: string) {
  const { db, url } = await testDatabase(t)
  const clock = clockAt(present)
  const logs: Record<string, unknown>[] = []
  const { log } = Fastify({
    logger: {
      level: 'info',
      stream: {
        write: (line: string) => {
          logs.push(JSON.parse(line) as Record<string, unknown>)
        }
      }
    }
  })
  const config = readConfig({ DATA_DIR: temporaryFolder(t), DATABASE_URL: url })
  const keys = createKeys(config.MASTER_KEY)
  const { service, close } = await policeService({ config, keys, clock, db, log })
  t.teardown(close)
  /** The queued mails. */
  const mails: Mail[] = []
  const mail = {
    enqueue: async (_executor: Executor, one: Mail) => {
      mails.push(one)
      return { id: mails.length, messageId: '' }
    },
    deliver () {}
  }
  const recipients = ['direzione@example.com', 'notte@example.com']
  const notifier = { db, clock, log, mail, recipients, mode: 'sandbox' as const }
  const context: LedgerContext & typeof notifier = {
    ...notifier,
    alarm: alarmNotifier(notifier),
    db,
    keys,
    clock,
    service: service!,
    sendQueue: new SendQueue(),
    chainHead: ledgerChainHead(config.DATA_DIR),
    timeline: serverTimeline(),
    audit: auditLog(log),
    log,
    beforeReady: [],
    accountOf: noUnits,
    name: 'prova'
  }
  const archive = receiptArchive({ db, service, mode: 'sandbox', clock })
  const { account, utente } = service!

  /** Creates a submission that was sent once, with the outcome that the ledger saw. */
  async function sent ({
    at,
    rows = 2,
    nights = 3,
    seen,
    taken = seen === 'K' ? rows : 0,
    held = 0,
    repliedAfter
  }: Sent): Promise<number> {
    const inviato = new Date(at)
    const [row] = await db
      .insert(invii)
      .values({
        ricevuta: `AW-${randomBytes(6).toString('hex')}`,
        utente: account,
        operatore: 'prova',
        metodo: 'Send',
        data_arrivo: dayInRome(inviato),
        permanenza: nights,
        scadenza: new Date(inviato.getTime() + 86_400_000).toISOString(),
        stato: 'pronto',
        lease_fino_al: LEASE
      })
      .returning({ id: invii.id })
    const { id } = row!
    await db.insert(invii_schedine).values(
      Array.from({ length: rows + held }, (_, indice) => ({
        invio_id: id,
        indice,
        capo: indice,
        utente: account,
        riga: randomBytes(8),
        permanenza: nights,
        impronta_identita: randomBytes(8),
        impronta_persona: randomBytes(8),
        esito: indice < rows ? 'in_corso' as const : 'rifiutata' as const
      }))
    )
    await call(id, { at, rows, nights, seen, repliedAfter })
    await acquired(at, taken, nights)
    return id
  }

  /** Records one call of a submission that is ready. No request is sent. */
  async function call (id: number, { at, rows = 2, nights = 3, seen, repliedAfter = 30 }: Sent): Promise<void> {
    const inviato = new Date(at)
    const until = new Date(inviato.getTime() + 600_000)
    const chi = 'prova'
    await db.transaction(async (tx) => {
      await move(tx, id, { da: 'pronto', a: 'preso', chi, perche: '' })
      const [submission] = await tx.select({ tentativo: invii.tentativo }).from(invii).where(eq(invii.id, id))
      const numero = submission!.tentativo + 1
      await tx.insert(invii_tentativi).values({
        invio_id: id,
        numero,
        base: 'primo',
        inviato_il: inviato.toISOString(),
        consegna_entro: until.toISOString(),
        giorno_da: dayInRome(inviato),
        giorno_a: dayInRome(until),
        schedine: rows,
        notti: rows * nights,
        impronta_richiesta: randomBytes(8)
      })
      await move(tx, id, { da: 'preso', a: 'in_invio', chi, perche: '', set: { tentativo: numero } })
      const counts = seen === 'K' ? { schedine: rows, notti: rows * nights } : {}
      const registrato_il = new Date(inviato.getTime() + repliedAfter * 1000).toISOString()
      await tx
        .insert(invii_esiti)
        .values({ invio_id: id, numero, esito: seen, fonte: 'risposta', registrato_il, ...counts })
      await move(tx, id, {
        da: 'in_invio', a: seen === 'K' ? 'acquisito' : seen === 'N' ? 'rifiutato' : 'sconosciuto', chi, perche: ''
      })
      await moveRows(tx, id, seen === 'K' ? 'acquisita' : seen === 'N' ? 'rifiutata' : 'sconosciuta', 'in_corso')
    })
  }

  /** Adds rows to those that the police has acquired. The ledger does not change. */
  async function acquired (at: string, rows: number, nights: number): Promise<void> {
    if (rows === 0) return
    const one = { utente, riga: 'prova', permanenza: nights, giorno: dayInRome(new Date(at)), acquisita_il: at }
    await db.insert(sandbox_schedine).values(Array.from({ length: rows }, () => one))
  }

  /** The state, the row outcomes, and the observations of the attempts with their sources. */
  async function stateOf (id: number) {
    const [submission] = await db.select({ stato: invii.stato, nota: invii.nota }).from(invii).where(eq(invii.id, id))
    const rows = await db.select({ esito: invii_schedine.esito }).from(invii_schedine)
      .where(eq(invii_schedine.invio_id, id)).orderBy(asc(invii_schedine.indice))
    const outcomes = await db
      .select()
      .from(invii_esiti)
      .where(eq(invii_esiti.invio_id, id))
      .orderBy(asc(invii_esiti.id))
    return {
      ...submission!,
      rows: rows.map(({ esito }) => esito).join(' '),
      outcomes: outcomes.map(
        ({ numero, esito, fonte, schedine, notti }) => `${numero}${esito} ${fonte} ${schedine}/${notti}`
      )
    }
  }

  async function exclusive (): Promise<void> {
    await db.execute(sql`insert into account_polizia (utente, canale_esclusivo) values (${account}, true)`)
  }

  const errors = () =>
    logs.filter(({ level }) => level === 50).map(({ msg, giorno, invio }) => ({ msg, giorno, invio }))
  return { db, url, clock, context, archive, account, sent, call, acquired, stateOf, exclusive, errors, logs, mails }
}

export type LedgerWithHistory = Awaited<ReturnType<typeof ledgerWithHistory>>
