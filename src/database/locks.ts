/**
 * All advisory locks of the product. PostgreSQL identifies such a lock by its number, or pair of numbers, in one
 * database. A number never changes its meaning, because two versions may run side by side during an update.
 */
export const LOCKS = {
  /** Migrations. One process at a time runs them. */
  migrations: 168_174,
  /** The tail of the ledger's chain, locked by the function `invii_transizione`. */
  ledgerChain: 168_175,
  /** User rights: at least one administrator must remain. */
  rights: 168_176,
  /** Accounts looked up or created for a sign-in through an external provider. */
  accounts: 168_177,
  /** Creation of the first administrator. */
  firstAdministrator: 168_178,
  /** With the hash of a user id: the user's sessions at an external provider. */
  seenSessions: 168_179,
  /** The tail of the audit log. */
  auditChain: 168_180,
  /** Rotation of the keys that sign access tokens. */
  signingKeys: 168_181,
  /** Rotation of the keys of stored files. */
  storageKeys: 168_182,
  /** Ordering of events: one transaction at a time assigns positions. */
  eventOrder: 168_183,
  /** Held until its end by a transaction that wakes event readers, locked by the function `evento_sveglia`. */
  eventWake: 168_184,
  /** The number of webhooks. */
  webhooks: 168_185,
  /** A backup reads the files of its snapshot. File removal first tries to share this lock. */
  backup: 168_186,
  /** With the id of a unit: who occupies it, locked by the function `occupa`. */
  units: 168_187,
  /** The role of the SQL console and its rights. */
  sqlRole: 168_190,
  /** With the hash of an account name: the numbers of its sandbox apartments. */
  sandboxApartments: 174
} as const
