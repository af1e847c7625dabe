import type { RowOutcome, State } from '#schemas/submission.ts'
import { ACCEPTED, TRANSITIONS, type Evidence } from '../transitions.ts'
import type { Sealed, StoredHistory } from './history.ts'

/** Gives the seal of a text. */
export type SealOf = (text: string) => Buffer

/** Row outcomes that have ended when their submission has. */
const NO_LONGER: Partial<Record<State, readonly RowOutcome[]>> = {
  acquisito: ['in_corso', 'sconosciuta'],
  ricevuto: ['in_corso', 'sconosciuta'],
  parziale: ['in_corso'],
  rifiutato: ['in_corso'],
  non_inviato: ['in_corso'],
  depositato_altrove: ['in_corso'],
  annullato: ['in_corso']
}

/** What is wrong with a submission, Italian; undefined when all of it is as the ledger wrote it. */
export function faultOf (history: StoredHistory, sealOf: SealOf): string | undefined {
  return faultOfLinks(history, sealOf) ?? faultOfSeals(history, sealOf) ??
    faultOfEvidence(history) ?? faultOfRows(history)
}

function faultOfLinks ({ submission, links }: StoredHistory, sealOf: SealOf): string | undefined {
  for (const [at, link] of links.entries()) {
    if (!link.hash.equals(sealOf(link.testo))) return `la transizione ${link.id} è stata alterata, o manca quella prima`
    if (link.da !== (links[at - 1]?.a ?? null)) return `manca una transizione prima della ${link.id}`
  }
  const attempts = links.filter(({ a }) => a === 'in_invio').length
  const last = links.at(-1)
  const fits =
    last !== undefined &&
    last.a === submission.stato &&
    links.length - 1 === submission.versione &&
    attempts === submission.tentativo
  return fits ? undefined : 'stato, versione o numero dei tentativi non sono quelli delle sue transizioni'
}

function faultOfSeals (history: StoredHistory, sealOf: SealOf): string | undefined {
  const { submission, rows, attempts, observations, decisions, confirmations, corrections, erasures } = history
  const isBroken = ({ sigillo, testo }: Sealed) => sigillo === null || !sigillo.equals(sealOf(testo))
  if (isBroken(submission)) return 'i dati dell\'invio sono stati alterati'
  if (rows.some(isBroken)) return 'una schedina è stata alterata'
  if (attempts.some(isBroken)) return 'un tentativo è stato alterato'
  if (observations.some(isBroken)) return 'l\'esito di un tentativo è stato alterato'
  if (decisions.some(isBroken)) return 'una decisione è stata alterata'
  if (confirmations.some(isBroken)) return 'la conferma è stata alterata'
  if (corrections.some(isBroken)) return 'una richiesta di correzione è stata alterata'
  return erasures.some(isBroken) ? 'la cancellazione delle schedine è stata alterata' : undefined
}

/** What was taken away, or put back as it once was, has no seal to tell of it. */
function faultOfEvidence ({ submission, links, rows, attempts, observations, decisions }: StoredHistory) {
  const { stato, tentativo } = submission
  if (attempts.length !== tentativo || attempts.some(({ numero }, at) => numero !== at + 1)) {
    return 'un tentativo manca, o è di troppo'
  }
  const open = stato === 'in_invio' ? tentativo : 0
  const outcomes = (numero: number) => observations.filter((each) => each.numero === numero).map(({ esito }) => esito)
  if (attempts.some(({ numero }) => numero !== open && outcomes(numero).length === 0)) {
    return 'di un tentativo manca l\'esito'
  }
  const missing = links.some(({ da, a }, version) => {
    const serve = TRANSITIONS.find((each) => each.da === da && each.a === a)?.serve
    return isDecision(serve) && !decisions.some((each) => each.versione === version - 1 && each.decisione === serve)
  })
  if (missing) return 'una decisione manca'
  const last = links.at(-1)!
  const serve = TRANSITIONS.find(({ da, a }) => da === last.da && a === last.a)?.serve
  const acquired = observations.some(({ esito }) => esito === 'K')
  const refused = attempts.every(({ numero }) => outcomes(numero).includes('N'))
  if ((serve === 'esito_K' || serve === 'ricevuta') && !acquired) return 'manca la prova che è stato acquisito'
  if (serve === 'tutti_N' && !refused) return 'manca la prova che niente è stato acquisito'
  const ended = NO_LONGER[stato] ?? []
  return rows.some(({ esito }) => ended.includes(esito)) ? 'una schedina è stata riportata indietro' : undefined
}

/**
 * A row that passes for another guest's has a confirmation, and one without its record an erasure. Of a confirmation
 * that let more guests pass than the booking says, the chain alone tells.
 */
function faultOfRows ({ links, rows, confirmations, erasures }: StoredHistory): string | undefined {
  const isConfirmed = links[0]!.perche === ACCEPTED.confirmed || rows.some(({ confermata }) => confermata)
  if (isConfirmed && confirmations.length === 0) return 'manca la conferma'
  const isErased = rows.some(({ cancellata }) => cancellata)
  if (erasures.length === 0 && isErased) return 'manca la cancellazione delle schedine'
  const isBack = erasures.length > 0 && rows.some(({ cancellata }) => !cancellata)
  return isBack ? 'una schedina cancellata è stata riportata indietro' : undefined
}

function isDecision (serve: Evidence | undefined): boolean {
  return serve === 'reinvia' || serve === 'depositato' || serve === 'annulla'
}
