/**
 * Every advisory lock of the product. PostgreSQL knows such a lock by its number alone, within one database; it keeps
 * single numbers and pairs of numbers apart. A number never changes its meaning: processes of two versions may run
 * side by side during an update.
 */
export const LOCKS = {
  /** The migrations, of which one process runs at a time. */
  migrations: 168_174,
  /** The end of the ledger's chain; taken by the function `invii_transizione`. */
  ledgerChain: 168_175,
  /** The rights of users: at least one administrator is always left. */
  rights: 168_176,
  /** Accounts that are found or made for a sign-in through another provider. */
  accounts: 168_177,
  /** The first administrator, who is made once. */
  firstAdministrator: 168_178,
  /** With the hash of a person's id: that person's sessions at an external provider. */
  seenSessions: 168_179,
  /** The end of the audit log. */
  auditChain: 168_180,
  /** The rotation of the keys that sign access tokens. */
  signingKeys: 168_181,
  /** The rotation of the keys of stored files. */
  storageKeys: 168_182,
  /** The order of events: one transaction at a time gives places in it. */
  eventOrder: 168_183,
  /** Held to its end by a transaction that wakes the readers of events; taken by the function `evento_sveglia`. */
  eventWake: 168_184,
  /** The number of webhooks. */
  webhooks: 168_185,
  /** A backup reads the files that its snapshot names; whoever removes files tries to share it first. */
  backup: 168_186,
  /** The role of the SQL console and its rights. */
  sqlRole: 168_190,
  /** With the hash of an account's name: the numbers of that account's apartments in the sandbox. */
  sandboxApartments: 174
} as const
