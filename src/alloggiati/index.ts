/* What other areas and the app may use of the police area. */
export { default as submissionHooks } from './hooks.ts'
export { default as bookingRemarks } from './remarks.ts'
export { coverageOf, type BookingCoverage } from './ledger/covered-guests.ts'
export { ledgerSummary, type LedgerSummary } from './ledger/summary.ts'
export { suspendSending } from './ledger/suspension.ts'
export { sealSettings } from './ledger/seals/key.ts'
export { default as ledgerKey } from './ledger/seals/plugin.ts'
export { default as alloggiati } from './plugin.ts'
