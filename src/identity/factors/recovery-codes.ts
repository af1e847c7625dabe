import { randomInt } from 'node:crypto'
import { and, eq, isNull } from 'drizzle-orm'
import { recovery_codes as t } from '#drizzle/tables/identity.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { plainCode } from '#src/lib/typed-code.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'

export const CODES = 10
/** Without what is easily taken for another: 32 characters, five bits each, eighty bits a code. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz023456789'
const LENGTH = 16

/** New codes of a factor, in place of all earlier ones. They are shown this once: only fingerprints are kept. */
export async function issueCodes (tx: Transaction, keys: Keys, factor_id: string): Promise<string[]> {
  const codes = Array.from({ length: CODES }, newCode)
  await tx.delete(t).where(eq(t.factor_id, factor_id))
  await tx.insert(t).values(codes.map((code) => ({ factor_id, fingerprint: fingerprint(keys, factor_id, code) })))
  return codes
}

/** Whether a code is one of these and was not used. */
export async function isUnused (db: Executor, keys: Keys, factor_id: string, code: string): Promise<boolean> {
  return (await db.$count(t, unused(keys, factor_id, code))) > 0
}

/** Uses a code up. @returns false when another request has used it first */
export async function useCode (tx: Transaction, keys: Keys, factor_id: string, code: string): Promise<boolean> {
  const used = await tx.update(t).set({ used_at: new Date() }).where(unused(keys, factor_id, code))
    .returning({ factor_id: t.factor_id })
  return used.length > 0
}

/** How many codes there are, and how many of them were not used. */
export async function countCodes (db: Executor, factor_id: string): Promise<{ total: number, remaining: number }> {
  const rows = await db.select({ used_at: t.used_at }).from(t).where(eq(t.factor_id, factor_id))
  return { total: rows.length, remaining: rows.filter(({ used_at }) => used_at === null).length }
}

function unused (keys: Keys, factor_id: string, code: string) {
  return and(eq(t.factor_id, factor_id), eq(t.fingerprint, fingerprint(keys, factor_id, code)), isNull(t.used_at))
}

/** Letter case, blanks and dashes do not count: codes are copied by hand. */
function fingerprint (keys: Keys, factor_id: string, code: string): Buffer {
  return keys.fingerprint('recovery-code', factor_id, plainCode(code).toLowerCase())
}

function newCode (): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]!).join('')
}
