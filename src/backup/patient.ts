/** Settings of the session of a command, a backup or a restore: they take as long as they take. */
export const PATIENT = { statement_timeout: '0', idle_in_transaction_session_timeout: '3600000' }
