import { randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { and, desc, eq, gt, inArray, lt, lte, sql } from 'drizzle-orm'
import { one_time_tokens as t } from '#drizzle/tables/identity.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'

/**
 * What a mail proves. A change of address takes two of them; `email_change_half` is what is left of the first one that
 * was proven, with secrets that nobody knows.
 */
export type TokenKind =
  | 'signup'
  | 'recovery'
  | 'magiclink'
  | 'invite'
  | 'email_change_current'
  | 'email_change_new'
  | 'email_change_half'
  | 'reauthentication'

/** What goes by mail. Either of the two is enough, and both are gone once one was used. */
export interface Secrets {
  /** Six digits. */
  code: string
  /** 32 bytes in hexadecimal: `hashed_token` and `token_hash` on the wire. */
  link: string
}

export type TokenRow = typeof t.$inferSelect & { kind: TokenKind }

const CODES = 1_000_000
/**
 * A code of which so many wrong ones were tried is dead; the link goes on, so that nobody can be kept from it by
 * guessing.
 */
const MAX_ATTEMPTS = 5
/** How many may wait for one address: several people may ask for the same new one. */
const CANDIDATES = 5
const LIFETIME = sql`now() + interval '24 hours'`
const alive = gt(t.expires_at, sql`now()`)

/** A new code and link for 24 hours, in place of what the person had of this kind. Only their fingerprints are kept. */
export async function issueToken (
  tx: Executor, keys: Keys, token: { user_id: string, kind: TokenKind, sent_to: string, flow_state_id?: string | null }
): Promise<Secrets> {
  const { user_id, kind, sent_to, flow_state_id = null } = token
  const code = String(randomInt(CODES)).padStart(6, '0')
  const link = randomBytes(32).toString('hex')
  const values = {
    sent_to,
    otp_fingerprint: codeFingerprint(keys, user_id, kind, code),
    link_fingerprint: linkFingerprint(keys, link),
    attempts: 0,
    flow_state_id,
    created_at: sql`now()`,
    expires_at: LIFETIME
  }
  await tx
    .insert(t)
    .values({ user_id, kind, ...values })
    .onConflictDoUpdate({ target: [t.user_id, t.kind], set: values })
  return { code, link }
}

/** Takes the token of a link: it is good once. One of another kind stays as it is. */
export async function takeByLink (
  tx: Transaction,
  keys: Keys,
  link: string,
  kinds: readonly TokenKind[]
): Promise<TokenRow | undefined> {
  const [row] = await tx
    .delete(t)
    .where(and(eq(t.link_fingerprint, linkFingerprint(keys, link)), inArray(t.kind, kinds), alive))
    .returning()
  return row && typed(row)
}

/**
 * Takes the token of a code that went to an address, or to a person: it is good once. A wrong code counts against every
 * token that it was tried on, so the caller's transaction must be committed either way.
 */
export async function takeByCode (
  tx: Transaction,
  keys: Keys,
  { to, code, kinds }: { to: { address: string } | { userId: string }; code: string; kinds: readonly TokenKind[] }
): Promise<TokenRow | undefined> {
  const whose = 'address' in to ? eq(t.sent_to, to.address) : eq(t.user_id, to.userId)
  // The lock lets one of many guesses at once be counted after the other.
  const rows = await tx
    .select()
    .from(t)
    .where(and(whose, inArray(t.kind, kinds), alive, lt(t.attempts, MAX_ATTEMPTS)))
    .orderBy(desc(t.created_at), t.id)
    .limit(CANDIDATES)
    .for('update')
  const isRight = ({ user_id, kind, otp_fingerprint }: TokenRow) =>
    timingSafeEqual(otp_fingerprint, codeFingerprint(keys, user_id, kind, code))
  const found = rows.map(typed).find(isRight)
  if (found) await tx.delete(t).where(eq(t.id, found.id))
  else {
    await tx
      .update(t)
      .set({ attempts: sql`${t.attempts} + 1` })
      .where(
        inArray(
          t.id,
          rows.map(({ id }) => id)
        )
      )
  }
  return found
}

/** The address that has agreed to a change, if one has. */
export async function provenHalf (tx: Executor, user_id: string): Promise<string | undefined> {
  const mark = and(eq(t.user_id, user_id), eq(t.kind, 'email_change_half' satisfies TokenKind), alive)
  const [found] = await tx.select({ sent_to: t.sent_to }).from(t).where(mark)
  return found?.sent_to
}

/** What a person was sent is good for nothing any more: all of it, or these kinds. */
export async function forgetTokens (tx: Executor, user_id: string, kinds?: readonly TokenKind[]): Promise<void> {
  await tx.delete(t).where(and(eq(t.user_id, user_id), kinds && inArray(t.kind, kinds)))
}

export async function forgetOldTokens (db: Executor): Promise<void> {
  await db.delete(t).where(lte(t.expires_at, sql`now()`))
}

function typed (row: typeof t.$inferSelect): TokenRow {
  return { ...row, kind: row.kind as TokenKind }
}

/** Of the person and the kind, too: the same six digits are nobody else's, and good for nothing else. */
function codeFingerprint (keys: Keys, userId: string, kind: TokenKind, code: string): Buffer {
  return keys.fingerprint('one-time-token', 'code', userId, kind, code)
}

function linkFingerprint (keys: Keys, link: string): Buffer {
  return keys.fingerprint('one-time-token', 'link', link)
}
