/* The words of the submission ledger: its API, its tables and its code take them from here. */

/** The states of a submission, in the order of its life, with the words in which people are told. */
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

/** Something may still be acquired: what the submission is about must not disappear. */
export const UNFINISHED_STATES = [
  'pronto', 'preso', 'in_invio', 'sconosciuto', 'da_verificare'
] as const satisfies State[]

/** What a person can decide of: no rule can say what became of the submission. */
export const DECIDABLE_STATES = ['sconosciuto', 'da_verificare'] as const satisfies State[]

/** Whether a person can decide of a submission in this state. */
export function isDecidable (stato: State | null): boolean {
  return DECIDABLE_STATES.some((each) => each === stato)
}

/** The call is out: one at a time for each account, because a receipt only counts. */
export const IN_FLIGHT_STATES = ['in_invio'] as const satisfies State[]

/** The submission waits for its turn, or is out: what became of it will be known soon. */
export const UNDER_WAY_STATES = ['pronto', 'preso', 'in_invio'] as const satisfies State[]

/** Whether a submission is in such a state; null, of none, is not. */
export function isUnderWay (stato: State | null): boolean {
  return UNDER_WAY_STATES.some((each) => each === stato)
}

/** The service acquired guests, all or some of them, and the receipt of the day has not proven it yet. */
export const UNRECEIPTED_STATES = ['acquisito', 'parziale'] as const satisfies State[]

/** The service acquired its guests. */
export const ACQUIRED_STATES = ['acquisito', 'ricevuto'] as const satisfies State[]

/** All its guests are with the police, in one way or another. */
export const FILED_STATES = [...ACQUIRED_STATES, 'depositato_altrove'] as const satisfies State[]

/** Nothing can be acquired any more, and nothing more is to be proven: the encrypted records may be erased. */
export const ERASABLE_STATES = [
  'ricevuto', 'parziale', 'rifiutato', 'non_inviato', 'depositato_altrove', 'annullato'
] as const satisfies State[]

/** What has become of one row of a submission. */
export const ROW_OUTCOMES = [
  'in_corso', 'acquisita', 'rifiutata', 'non_inviata', 'sconosciuta', 'depositata', 'annullata'
] as const
export type RowOutcome = typeof ROW_OUTCOMES[number]

/** The row's guest is being sent, was filed, or may have been: the same guest cannot be entered again. */
export const LIVE_ROW_OUTCOMES = ['in_corso', 'acquisita', 'sconosciuta', 'depositata'] as const satisfies RowOutcome[]

/** Nothing is known for good of the row: it is being sent, or its outcome is unknown. */
export const UNRESOLVED_ROW_OUTCOMES = ['in_corso', 'sconosciuta'] as const satisfies RowOutcome[]

/** Whether nothing is known for good of a row. */
export function isUnresolved (esito: RowOutcome): boolean {
  return UNRESOLVED_ROW_OUTCOMES.some((each) => each === esito)
}

/** What is known of an attempt: `K` answered row by row · `N` proven not acquired · `?` unknown */
export const ATTEMPT_OUTCOMES = ['K', 'N', '?'] as const
export type AttemptOutcome = typeof ATTEMPT_OUTCOMES[number]

/** What is proven or decided: an attempt has at most one of them, and it does not change. */
export const FINAL_ATTEMPT_OUTCOMES = ['K', 'N'] as const satisfies AttemptOutcome[]
export type FinalAttemptOutcome = typeof FINAL_ATTEMPT_OUTCOMES[number]

/** Why an attempt was made: the first one, or a further one after a proof or a decision. */
export const ATTEMPT_BASES = ['primo', 'ripresa'] as const

/** Where an observation comes from; `scadenza`: its process died before the reply. */
export const OBSERVATION_SOURCES = ['risposta', 'ricevuta', 'decisione', 'scadenza'] as const
export type ObservationSource = typeof OBSERVATION_SOURCES[number]

/** What a person can decide of a submission that no rule could settle. */
export const DECISIONS = ['reinvia', 'acquisito', 'depositato', 'annulla'] as const
export type DecisionName = typeof DECISIONS[number]
