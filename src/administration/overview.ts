import { count, isNull } from 'drizzle-orm'
import { invii, sessions, users } from '#drizzle/tables/index.ts'
import type { AuditEvent } from '#schemas/audit.ts'
import { openHold } from '#src/alloggiati/ledger/hold.ts'
import { scopeOf } from '#src/alloggiati/ledger/read.ts'
import { STATES } from '#src/alloggiati/ledger/states.ts'
import type { Config } from '#src/config/config.ts'
import { auditPage } from '#src/plugins/audit/list.ts'
import { countByState } from '#src/plugins/mail/queue.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import { liveSession } from '#src/identity/people/users.ts'

const LATEST = 20

/** Something counted, in the words in which it is shown. */
export interface Counted { what: string, n: number }

/** The installation at a glance. No names, no addresses. */
export interface Overview {
  mode: Config['ALLOGGIATI_MODE']
  people: Counted[]
  /** Of this mode, by state; states without any are left out. */
  submissions: Counted[]
  /** What waits for a person. */
  alarms: Counted[]
  actions: AuditEvent[]
}

export async function overview (db: Database, mode: Config['ALLOGGIATI_MODE']): Promise<Overview> {
  const [alive, live, states, hold, mail, { data: actions }] = await Promise.all([
    db.$count(users, isNull(users.deleted_at)),
    db.$count(sessions, liveSession),
    db.select({ stato: invii.stato, n: count() }).from(invii).where(scopeOf(mode)).groupBy(invii.stato),
    openHold(db),
    countByState(db),
    auditPage(db, {}, LATEST)
  ])
  const inState = (stato: string) => states.find((row) => row.stato === stato)?.n ?? 0
  return {
    mode,
    people: [
      { what: 'Utenti', n: alive },
      { what: 'Sessioni attive', n: live }
    ],
    submissions: Object.entries(STATES)
      .map(([stato, description]) => ({ what: `${stato}: ${description}`, n: inState(stato) }))
      .filter(({ n }) => n > 0),
    alarms: [
      { what: 'Invii di esito sconosciuto', n: inState('sconosciuto') },
      { what: 'Invii su cui una persona deve decidere', n: inState('da_verificare') },
      { what: 'Sospensioni degli invii in vigore', n: hold === undefined ? 0 : 1 },
      { what: 'E-mail non consegnate', n: mail.fallita ?? 0 }
    ],
    actions
  }
}
