/* The vocabulary of the submission ledger, for its API, tables and code. */

/** The states of a submission in order of its life, with their descriptions for persons. */
export const STATES = {
  pronto: 'accettato e scritto, non ancora preso in carico',
  preso: 'preso in carico da un processo: accesso e prova in corso, niente è stato inviato',
  in_invio: 'consegnato: la registrazione precede il primo byte',
  acquisito: 'acquisito per intero',
  parziale: 'acquisito in parte',
  rifiutato: 'rifiutato, niente acquisito',
  non_inviato: 'certamente non inviato',
  sconosciuto: 'esito sconosciuto',
  da_verificare: 'una persona deve decidere',
  ricevuto: 'acquisito e provato dalla ricevuta',
  depositato_altrove: 'comunicato per altra via (portale, PEC)',
  annullato: 'abbandonato per decisione'
} as const
export type State = keyof typeof STATES
export const STATE_NAMES = Object.keys(STATES) as [State, ...State[]]

/** Guests may still be acquired, so the bookings of the submission must not be deleted. */
export const UNFINISHED_STATES = [
  'pronto', 'preso', 'in_invio', 'sconosciuto', 'da_verificare'
] as const satisfies State[]

/** States in which a person decides, because no rule can settle the outcome. */
export const DECIDABLE_STATES = ['sconosciuto', 'da_verificare'] as const satisfies State[]

/** Whether a person can decide on a submission in this state. */
export function isDecidable (stato: State | null): boolean {
  return DECIDABLE_STATES.some((each) => each === stato)
}

/** The Send is in flight: one per account, because a receipt only counts. */
export const IN_FLIGHT_STATES = ['in_invio'] as const satisfies State[]

/** The submission waits or is in flight. Its result will be known soon. */
export const UNDER_WAY_STATES = ['pronto', 'preso', 'in_invio'] as const satisfies State[]

/** Whether a submission is waiting or in flight. False for null. */
export function isUnderWay (stato: State | null): boolean {
  return UNDER_WAY_STATES.some((each) => each === stato)
}

/** The service acquired all or some guests, but the day's receipt has not confirmed it yet. */
export const UNRECEIPTED_STATES = ['acquisito', 'parziale'] as const satisfies State[]

/** The service acquired all its guests. */
export const ACQUIRED_STATES = ['acquisito', 'ricevuto'] as const satisfies State[]

/** All its guests are with the police, by this or another channel. */
export const FILED_STATES = [...ACQUIRED_STATES, 'depositato_altrove'] as const satisfies State[]

/** The encrypted records may be erased, if no row is unresolved. */
export const ERASABLE_STATES = [
  'ricevuto', 'parziale', 'rifiutato', 'non_inviato', 'depositato_altrove', 'annullato'
] as const satisfies State[]

/** The outcome of one row of a submission. */
export const ROW_OUTCOMES = [
  'in_corso', 'acquisita', 'rifiutata', 'non_inviata', 'sconosciuta', 'depositata', 'annullata'
] as const
export type RowOutcome = typeof ROW_OUTCOMES[number]

/** The guest is being, was or may have been sent, so the same guest cannot be sent again. */
export const LIVE_ROW_OUTCOMES = ['in_corso', 'acquisita', 'sconosciuta', 'depositata'] as const satisfies RowOutcome[]

/** The guest was acquired, or filed through another channel. */
export const FILED_ROW_OUTCOMES = ['acquisita', 'depositata'] as const satisfies RowOutcome[]

/** Whether a row's guest was acquired, or filed through another channel. */
export function isFiled (esito: RowOutcome): boolean {
  return FILED_ROW_OUTCOMES.some((each) => each === esito)
}

/** The row is being sent, or its outcome is unknown. */
export const UNRESOLVED_ROW_OUTCOMES = ['in_corso', 'sconosciuta'] as const satisfies RowOutcome[]

/** Whether a row's outcome is unresolved. */
export function isUnresolved (esito: RowOutcome): boolean {
  return UNRESOLVED_ROW_OUTCOMES.some((each) => each === esito)
}

/** The outcome of an attempt: `K` answered row by row · `N` proven not acquired · `?` unknown */
export const ATTEMPT_OUTCOMES = ['K', 'N', '?'] as const
export type AttemptOutcome = typeof ATTEMPT_OUTCOMES[number]

/** Final outcomes, proven or decided. An attempt has at most one, which never changes. */
export const FINAL_ATTEMPT_OUTCOMES = ['K', 'N'] as const satisfies AttemptOutcome[]
export type FinalAttemptOutcome = typeof FINAL_ATTEMPT_OUTCOMES[number]

/** The reason for an attempt: the first, or a resend after a proof or a decision. */
export const ATTEMPT_BASES = ['primo', 'ripresa'] as const

/** The source of an observation. `scadenza`: the process was killed before the reply. */
export const OBSERVATION_SOURCES = ['risposta', 'ricevuta', 'decisione', 'scadenza'] as const
export type ObservationSource = typeof OBSERVATION_SOURCES[number]

/** The decisions of a person on a submission that no rule can settle. */
export const DECISIONS = ['reinvia', 'acquisito', 'depositato', 'annulla'] as const
export type DecisionName = typeof DECISIONS[number]
