/**
 * All advisory locks of the product. PostgreSQL identifies such a lock by one or two numbers, per database. The meaning
 * of a number never changes, because two versions of this program may run at the same time during an update.
 */
export const LOCKS = {
  /** Migrations. One process at a time runs them. */
  migrations: 168_174,
  /** The end of the ledger's chain, locked by the function `invii_transizione`. */
  ledgerChain: 168_175,
  /** User rights. At least one administrator must remain. */
  rights: 168_176,
  /** Search or creation of an account during a sign-in through an external provider. */
  accounts: 168_177,
  /** Creation of the first administrator. */
  firstAdministrator: 168_178,
  /** Sessions of a user at an external provider. The second number is a hash of the user's id. */
  seenSessions: 168_179,
  /** The end of the audit log. */
  auditChain: 168_180,
  /** Rotation of the keys that sign access tokens. */
  signingKeys: 168_181,
  /** Rotation of the keys of stored files. */
  storageKeys: 168_182,
  /** Order of events. One transaction at a time assigns positions. */
  eventOrder: 168_183,
  /** Wakes event readers. A transaction keeps it until its end. Locked by the function `evento_sveglia`. */
  eventWake: 168_184,
  /** The number of webhooks, which is limited. */
  webhooks: 168_185,
  /** A backup holds it while it reads files. A server tries to take it shared before it removes files. */
  backup: 168_186,
  /** With the id of a unit: the nights in which it is occupied, locked by the function `occupa`. */
  units: 168_187,
  /** Imports of bookings, so that two of them do not add the same code. */
  bookingImports: 168_188,
  /** The role of the SQL console and its rights. */
  sqlRole: 168_190,
  /** Numbers of the sandbox apartments of an account. The second number is a hash of the account's name. */
  sandboxApartments: 174
} as const
