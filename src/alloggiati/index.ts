/* The public interface of the police area. */
export { bookingRemarks, submissionHooks, type Registration, type Registrations } from './police-hooks.ts'
export { filingDeadline } from './deadlines.ts'
export { coverageOf, type BookingCoverage } from './ledger/coverage.ts'
export { ledgerSummary, type LedgerSummary } from './ledger/read-ledger.ts'
export { checkAccounts } from './accounts/check-accounts.ts'
export { currentSuspension, suspendFor } from './ledger/suspension.ts'
export { default as ledgerKey, isLedgersKey } from './ledger/ledger-key.ts'
export { default as alloggiati } from './plugin.ts'
