/** How a session, or the person behind a key, stands at present. */
export interface Standing {
  userId: string
  admin: boolean
  /** The person has signed up without an administrator and has no role yet. */
  pending: boolean
  /** When it ends by itself, milliseconds since the epoch. */
  endsAt: number
}

/** How an API key and its person stand. */
export interface KeyStanding extends Standing { hash: Buffer, scopes: readonly string[], lastUsedAt: number }
