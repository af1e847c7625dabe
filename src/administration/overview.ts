import type { AuditEvent } from '#schemas/audit.ts'
import { ledgerSummary } from '#src/alloggiati/index.ts'
import type { Config } from '#src/config/config.ts'
import { countPeople } from '#src/identity/index.ts'
import { auditPage } from '#src/services/audit/list.ts'
import type { Database } from '#src/database/connect.ts'
import { countByState } from '#src/services/mail/queue.ts'

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
  const [people, ledger, mail, { data: actions }] = await Promise.all([
    countPeople(db),
    ledgerSummary(db, mode),
    countByState(db),
    auditPage(db, {}, LATEST)
  ])
  const inState = (stato: string) => ledger.states.find((row) => row.stato === stato)?.submissions ?? 0
  return {
    mode,
    people: [
      { what: 'Utenti', n: people.users },
      { what: 'Sessioni attive', n: people.sessions }
    ],
    submissions: ledger.states
      .map(({ stato, description, submissions: n }) => ({ what: `${stato}: ${description}`, n }))
      .filter(({ n }) => n > 0),
    alarms: [
      { what: 'Invii di esito sconosciuto', n: inState('sconosciuto') },
      { what: 'Invii su cui una persona deve decidere', n: inState('da_verificare') },
      { what: 'Sospensioni degli invii in vigore', n: ledger.suspended ? 1 : 0 },
      { what: 'E-mail non consegnate', n: mail.fallita }
    ],
    actions
  }
}
