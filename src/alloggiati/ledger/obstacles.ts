import type { InvioDetail } from '#schemas/invio.ts'
import type { DecisionName, RowOutcome } from '#schemas/submission.ts'
import type { Day } from '#src/lib/time.ts'
import { arrivalWindowOpen } from '../deadlines.ts'

/** What is known of a submission that a person wants to decide on. */
export interface DecisionFacts {
  attempts: InvioDetail['tentativi']
  /** A reply or a receipt has proven that an attempt was acquired. */
  proven: boolean
  /** A person has decided that an attempt was acquired. */
  decidedAcquired: boolean
  /** Outcomes of the rows that the decision is about. */
  concerned: readonly RowOutcome[]
  /** How many rows have one of them. */
  concernedRows: number
  /** Until when the service may still act on an attempt that may have reached it. */
  deliveryEnds: Date | null
  data_arrivo: Day
  now: Date
  today: Day
  /** The submission is of the account that would send again. */
  ownAccount: boolean
}

const MINUTE_MS = 60_000

interface Obstacle { applies (facts: DecisionFacts): boolean, text: string | ((facts: DecisionFacts) => string) }

const ACQUIRED: Obstacle = {
  applies: ({ proven }) => proven,
  text: 'è provato che il servizio ha acquisito queste schedine'
}

/** What forbids each decision; the first obstacle that applies is told. */
const OBSTACLES: Readonly<Record<DecisionName, readonly Obstacle[]>> = {
  reinvia: [
    ACQUIRED,
    { applies: ({ concernedRows }) => concernedRows === 0, text: 'nessuna schedina è in dubbio' },
    { applies: ({ ownAccount }) => !ownAccount, text: "l'invio è di un altro account" },
    {
      applies: ({ data_arrivo, today }) => !arrivalWindowOpen(data_arrivo, today),
      text:
        'la finestra di arrivo è chiusa, il servizio accetta solo arrivi di oggi o di ieri. ' +
        'Va comunicato per altra via'
    },
    {
      // Sent again now, and delivered late, the guests would be acquired twice.
      applies: ({ deliveryEnds, now }) => deliveryEnds !== null && now < deliveryEnds,
      text: ({ deliveryEnds }) =>
        'il servizio può ancora ricevere il tentativo precedente. ' +
        `Si può inviare di nuovo dalle ${nextMinuteInRome(deliveryEnds!)}`
    }
  ],
  acquisito: [
    {
      applies: ({ attempts, proven, decidedAcquired }) =>
        !proven && !decidedAcquired && attempts.every(({ esito }) => esito === 'N'),
      text: 'nessun tentativo può essere stato acquisito'
    }
  ],
  depositato: [],
  annulla: [ACQUIRED]
}

/** Why a decision is not possible; undefined when it is. */
export function findObstacle (decisione: DecisionName, facts: DecisionFacts): string | undefined {
  const text = OBSTACLES[decisione].find(({ applies }) => applies(facts))?.text
  return typeof text === 'function' ? text(facts) : text
}

/** The first whole minute that is not before an instant, `HH:MM` by the clock of Rome. */
function nextMinuteInRome (instant: Date): string {
  const minute = new Date(Math.ceil(instant.getTime() / MINUTE_MS) * MINUTE_MS)
  return minute.toLocaleTimeString('it-IT', { timeZone: 'Europe/Rome', hour: '2-digit', minute: '2-digit' })
}
