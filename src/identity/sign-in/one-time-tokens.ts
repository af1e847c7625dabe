import { randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { and, asc, desc, eq, gt, inArray, lt, lte, sql, type SQL } from 'drizzle-orm'
import { one_time_tokens as t, users } from '#drizzle/tables/identity.ts'
import type { TokenKind } from '#schemas/auth/one-time-token.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { plainCode } from '#src/lib/typed-code.ts'
import type { Database, Executor, Transaction } from '#src/database/connect.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'
import { lockUsers } from '../people/people-locks.ts'

/** The secrets in a mail. Either one is enough. The use of one voids both. */
export interface TokenSecrets {
  code: string
  /** 32 bytes in hexadecimal. The protocol calls them `hashed_token` and `token_hash`. */
  link: string
}

export type TokenRow = typeof t.$inferSelect

const CODES = 1_000_000
/**
 * After this many wrong codes the code is void. The link stays valid, so that a stranger who guesses codes cannot lock
 * the person out.
 */
const MAX_ATTEMPTS = 5
/** A code is compared with at most this many tokens of its address. Several users may request the same new address. */
const CANDIDATES = 5
const LIFETIME = sql`now() + interval '24 hours'`
const notExpired = gt(t.expires_at, sql`now()`)

/** Issues a code and a link for 24 hours, which replace earlier ones of this kind. Only fingerprints are stored. */
export async function issueToken (
  tx: Executor, keys: Keys, token: { user_id: string, kind: TokenKind, sent_to: string, flow_state_id?: string | null }
): Promise<TokenSecrets> {
  const { user_id, kind, sent_to, flow_state_id = null } = token
  const code = String(randomInt(CODES)).padStart(6, '0')
  const link = randomBytes(32).toString('hex')
  await storeToken(tx, user_id, kind, {
    sent_to,
    otp_fingerprint: codeFingerprint(keys, user_id, kind, code),
    link_fingerprint: linkFingerprint(keys, link),
    flow_state_id
  })
  return { code, link }
}

/**
 * Marks that one address of a change has confirmed. The mark keeps the fingerprints of the used token, so that its link
 * is recognized. But the link and the code are no longer valid proofs.
 */
export async function markConfirmed (tx: Executor, { user_id, ...token }: TokenRow): Promise<void> {
  const { sent_to, otp_fingerprint, link_fingerprint } = token
  const mark = { sent_to, otp_fingerprint, link_fingerprint, flow_state_id: null }
  await storeToken(tx, user_id, 'email_change_half', mark)
}

async function storeToken (
  tx: Executor,
  user_id: string,
  kind: TokenKind,
  token: Pick<TokenRow, 'sent_to' | 'otp_fingerprint' | 'link_fingerprint' | 'flow_state_id'>
): Promise<void> {
  const values = { ...token, attempts: 0, created_at: sql`now()`, expires_at: LIFETIME }
  await tx.insert(t).values({ user_id, kind, ...values })
    .onConflictDoUpdate({ target: [t.user_id, t.kind], set: values })
}

/** Takes the single-use token of a link, and locks its person. Tokens of other kinds stay. */
export async function takeByLink (
  tx: Transaction, keys: Keys, link: string, kinds: readonly TokenKind[]
): Promise<TokenRow | undefined> {
  const which = and(eq(t.link_fingerprint, linkFingerprint(keys, link)), inArray(t.kind, kinds), notExpired)
  await lockUsers(tx, tx.select({ user_id: t.user_id }).from(t).where(which))
  const [row] = await tx.delete(t).where(which).returning()
  return row
}

/**
 * Takes the single-use token of a code that was sent to an address, or to a person. Ignores blanks and dashes. Locks
 * all people whose tokens it compares. A wrong code counts for each of them, so the caller must commit the transaction
 * in either case.
 */
export async function takeByCode (
  tx: Transaction,
  keys: Keys,
  { to, code, kinds }: { to: { address: string } | { userId: string }; code: string; kinds: readonly TokenKind[] }
): Promise<TokenRow | undefined> {
  const typed = plainCode(code)
  const recipient = 'address' in to ? eq(t.sent_to, to.address) : eq(t.user_id, to.userId)
  const isCandidate = and(recipient, inArray(t.kind, kinds), notExpired, lt(t.attempts, MAX_ATTEMPTS))
  const order = [desc(t.created_at), asc(t.id)]
  // The lock lets concurrent guesses run one after the other, so that each one counts.
  const candidates = tx.select({ user_id: t.user_id }).from(t).where(isCandidate).orderBy(...order).limit(CANDIDATES)
  const locked = await lockUsers(tx, candidates)
  const rows = await tx.select().from(t).where(and(isCandidate, inArray(t.user_id, locked))).orderBy(...order)
    .limit(CANDIDATES).for('update')
  const isRight = ({ user_id, kind, otp_fingerprint }: TokenRow) =>
    timingSafeEqual(otp_fingerprint, codeFingerprint(keys, user_id, kind, typed))
  const found = rows.find(isRight)
  if (found) await tx.delete(t).where(eq(t.id, found.id))
  else {
    await tx.update(t).set({ attempts: sql`${t.attempts} + 1` }).where(inArray(t.id, rows.map(({ id }) => id)))
  }
  return found
}

export async function confirmedAddress (tx: Executor, user_id: string): Promise<string | undefined> {
  const mark = and(eq(t.user_id, user_id), eq(t.kind, 'email_change_half'), notExpired)
  const [found] = await tx.select({ sent_to: t.sent_to }).from(t).where(mark)
  return found?.sent_to
}

/** The kinds of the last few unexpired tokens of an address, latest first. */
export async function kindsSentTo (db: Executor, address: string): Promise<TokenKind[]> {
  const rows = await db.select({ kind: t.kind }).from(t)
    .where(and(eq(t.sent_to, address), notExpired)).orderBy(desc(t.created_at)).limit(CANDIDATES)
  return rows.map(({ kind }) => kind)
}

/** The address that this link has confirmed while the other address of the change is unconfirmed, or undefined. */
export async function confirmedByLink (db: Executor, keys: Keys, link: string): Promise<'current' | 'new' | undefined> {
  return await confirmed(db, eq(t.link_fingerprint, linkFingerprint(keys, link)))
}

/** Like `confirmedByLink`, for the address that received the code. */
export async function confirmedByAddress (db: Executor, address: string): Promise<'current' | 'new' | undefined> {
  return await confirmed(db, eq(t.sent_to, address))
}

async function confirmed (db: Executor, which: SQL): Promise<'current' | 'new' | undefined> {
  const [found] = await db.select({ sent_to: t.sent_to, email: users.email })
    .from(t).innerJoin(users, eq(users.id, t.user_id)).where(and(eq(t.kind, 'email_change_half'), which, notExpired))
  return found && (found.sent_to === found.email ? 'current' : 'new')
}

export async function deleteTokens (tx: Executor, user_id: string, kinds?: readonly TokenKind[]): Promise<void> {
  await tx.delete(t).where(and(eq(t.user_id, user_id), kinds && inArray(t.kind, kinds)))
}

export async function deleteExpiredTokens (db: Database): Promise<void> {
  await deleteInBatches(db, t, lte(t.expires_at, sql`now()`))
}

/** Includes person and kind, so that the same six digits have different fingerprints. */
function codeFingerprint (keys: Keys, userId: string, kind: TokenKind, code: string): Buffer {
  return keys.fingerprint('one-time-token', 'code', userId, kind, code)
}

function linkFingerprint (keys: Keys, link: string): Buffer {
  return keys.fingerprint('one-time-token', 'link', link)
}
