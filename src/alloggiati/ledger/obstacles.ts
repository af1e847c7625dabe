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
  data_arrivo: Day
  today: Day
  /** The submission is of the account that would send again. */
  ownAccount: boolean
}

interface Obstacle { applies (facts: DecisionFacts): boolean, text: string }

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
  return OBSTACLES[decisione].find(({ applies }) => applies(facts))?.text
}
