import type { RowOutcome, State } from '#schemas/submission.ts'
import { ACCEPTED, TRANSITIONS, type Evidence } from '../transitions.ts'
import type { Sealed, StoredHistory, StoredLink } from './history.ts'

/** How long processes of the version before, which have no key, may go on writing beside the new ones. */
export const UPDATE_MS = 24 * 3600_000

/** What histories are judged with. */
export interface Judge {
  sealOf (text: string): Buffer
  /** The first link of the whole chain that was made with the key; undefined while there is none. */
  firstKeyed: Pick<StoredLink, 'id' | 'quando'> | undefined
}

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

/** Whether a link was made with the key. */
export function isKeyed ({ hash, testo }: StoredLink, sealOf: Judge['sealOf']): boolean {
  return hash.equals(sealOf(testo))
}

/** What is wrong with a submission, Italian; undefined when all of it is as the ledger wrote it. */
export function faultOf (history: StoredHistory, judge: Judge): string | undefined {
  return faultOfLinks(history, judge) ?? faultOfSeals(history, judge) ??
    faultOfEvidence(history) ?? faultOfRows(history)
}

function faultOfLinks ({ submission, links }: StoredHistory, judge: Judge): string | undefined {
  for (const [at, link] of links.entries()) {
    if (!holds(link, judge)) return `la transizione ${link.id} è stata alterata, o manca quella prima`
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

/**
 * A link that was made without the key is good as long as processes of the version before may have written it. Later it
 * is a forgery, although its hash is right: every program can compute that.
 */
function holds (link: StoredLink, { sealOf, firstKeyed }: Judge): boolean {
  if (link.id > 1 && link.prima === null) return false
  if (isKeyed(link, sealOf)) return true
  if (!link.hash.equals(link.senza_chiave)) return false
  if (firstKeyed === undefined || link.id < firstKeyed.id) return true
  // The very first link has the key: there was no version before.
  if (firstKeyed.id === 1) return false
  return Math.max(link.quando, link.quando_prima ?? 0) - firstKeyed.quando < UPDATE_MS
}

/** Of a submission that was born with the key everything has a seal; of an older one what was written since. */
function faultOfSeals (history: StoredHistory, { sealOf }: Judge): string | undefined {
  const { submission, links, rows, attempts, observations, decisions, confirmations, corrections, erasures } = history
  const bornKeyed = isKeyed(links[0]!, sealOf)
  if (bornKeyed && !links.every((link) => isKeyed(link, sealOf))) return 'una transizione non è sigillata'
  const isBroken = ({ sigillo, testo }: Sealed) => sigillo === null ? bornKeyed : !sigillo.equals(sealOf(testo))
  if (isBroken(submission)) return 'i dati dell\'invio sono stati alterati'
  if (rows.some(isBroken)) return 'una schedina è stata alterata'
  if (attempts.some(isBroken)) return 'un tentativo è stato alterato'
  if (observations.some(isBroken)) return 'l\'esito di un tentativo è stato alterato'
  if (decisions.some(isBroken)) return 'una decisione è stata alterata'
  // The version before wrote none of these.
  const isForged = (row: Sealed) => row.sigillo === null || isBroken(row)
  if (confirmations.some(isForged)) return 'la conferma è stata alterata'
  if (corrections.some(isForged)) return 'una richiesta di correzione è stata alterata'
  return erasures.some(isForged) ? 'la cancellazione delle schedine è stata alterata' : undefined
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
  const isErased = rows.some(({ cancellata, sigillo }) => cancellata && sigillo !== null)
  if (erasures.length === 0 && isErased) return 'manca la cancellazione delle schedine'
  const isBack = erasures.length > 0 && rows.some(({ cancellata }) => !cancellata)
  return isBack ? 'una schedina cancellata è stata riportata indietro' : undefined
}

function isDecision (serve: Evidence | undefined): boolean {
  return serve === 'reinvia' || serve === 'depositato' || serve === 'annulla'
}
