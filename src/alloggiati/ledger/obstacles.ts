import type { DecisionBody, InvioDetail } from '#schemas/invio.ts'
import { arrivalWindowOpen } from '../deadlines.ts'
import type { Day } from '#src/lib/time.ts'
import type { RowOutcome } from '#schemas/submission.ts'

/** What is known of a submission that is to be decided on. */
export interface Case {
  attempts: InvioDetail['tentativi']
  /** Acquired by a reply or a receipt. */
  proven: boolean
  /** Acquired on somebody's word. */
  byWord: boolean
  /** Outcomes of rows that the decision is about. */
  doubtful: readonly RowOutcome[]
  /** How many rows have one of them. */
  open: number
}

interface Circumstances { data_arrivo: Day, today: Day, ownAccount: boolean }

interface Obstacle { holds (facts: Case, circumstances: Circumstances): boolean, text: string }

const ACQUIRED: Obstacle = {
  holds: ({ proven }) => proven,
  text: 'è provato che il servizio ha acquisito queste schedine'
}

/** What stands in the way of each decision; the first that holds is told. */
const OBSTACLES: Readonly<Record<DecisionBody['decisione'], readonly Obstacle[]>> = {
  reinvia: [
    ACQUIRED,
    { holds: ({ open }) => open === 0, text: 'nessuna schedina è in dubbio' },
    { holds: (_, { ownAccount }) => !ownAccount, text: "l'invio è di un altro account" },
    {
      holds: (_, { data_arrivo, today }) => !arrivalWindowOpen(data_arrivo, today),
      text: 'la finestra di arrivo è chiusa, il servizio accetta solo arrivi di oggi o di ieri. Va comunicato per altra via'
    }
  ],
  acquisito: [
    {
      holds: ({ attempts, proven, byWord }) => !proven && !byWord && attempts.every(({ esito }) => esito === 'N'),
      text: 'nessun tentativo può essere stato acquisito'
    }
  ],
  depositato: [],
  annulla: [ACQUIRED]
}

/** Why a decision is not possible; undefined when it is. */
export function obstacle (
  decisione: DecisionBody['decisione'],
  facts: Case,
  circumstances: Circumstances
): string | undefined {
  return OBSTACLES[decisione].find(({ holds }) => holds(facts, circumstances))?.text
}
