import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import * as argon2 from '@node-rs/argon2'
import * as bcrypt from '@node-rs/bcrypt'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { COMMON_PASSWORDS } from './common-passwords.ts'

/**
 * Passwords are compared in Unicode's composed form (NFC), so that `è` typed on any keyboard is one character. Not
 * NFKC: it would make one password of visibly different ones (`①` and `1`).
 */
export interface Passwords {
  /** An argon2id hash in PHC format. @throws ServizioOccupato when too many are being computed */
  hash (password: string): Promise<string>
  /**
   * Whether the password is the one of the hash. Null (nobody of that name, or an account without password) and what is
   * not a known hash are false after the same work. @throws ServizioOccupato, and nothing else
   */
  verify (hash: string | null, password: string): Promise<boolean>
}

/** Limits on computing, of one `createPasswords`; a process makes one. */
export interface PasswordLimits {
  /** How many hashes are computed at once. */
  atOnce?: number
  /** How many more wait for their turn. */
  waiting?: number
}

/** `characters`: control characters, or halves of a surrogate pair, of which every client sends something else. */
export type PasswordProblem = 'length' | 'characters' | 'pwned'

const MIN_LENGTH = 8
const MAX_LENGTH = 128

/** What is said of the field. */
export const PASSWORD_PROBLEMS: Readonly<Record<PasswordProblem, string>> = {
  length: `deve avere da ${MIN_LENGTH} a ${MAX_LENGTH} caratteri`,
  characters: 'contiene caratteri di controllo o non validi',
  pwned: 'è troppo facile da indovinare'
}

/** OWASP's minimum for argon2id (Password Storage Cheat Sheet): 19 MiB, two passes, one lane. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const SALT_BYTES = 16
const OUTPUT_BYTES = 32

/** What a hash from elsewhere may cost at most: about twenty times ours. It is paid at every attempt to sign in. */
const DEAREST = { memoryCost: 65_536, timeCost: 10, parallelism: 16 }
const LONGEST_HASH = 300
/** 80 bits: a shorter output would be met by chance. */
const SHORTEST_OUTPUT_BYTES = 10

/** Costs 04 to 12. `$2x$` marks the hashes of a faulty implementation. */
const BCRYPT = /^\$2[aby]\$(?:0[4-9]|1[0-2])\$[./A-Za-z0-9]{53}$/
/** Bytes after these have no part in a bcrypt hash. */
const BCRYPT_BYTES = 72

const UNTYPABLE = /[\p{Cc}\p{Cs}]/u

/** Hashes and verifies passwords, a bounded number at once: one core stays free for everything else. */
export function createPasswords ({
  atOnce = Math.max(1, availableParallelism() - 1),
  waiting = 20
}: PasswordLimits = {}): Passwords {
  const inTurn = takeTurns(atOnce, waiting)
  const nobodys = hashOfNobody()

  return {
    hash: (password) => inTurn(() => argon2.hash(password.normalize('NFC'), COST)),
    verify (hash, password) {
      const text = password.normalize('NFC')
      const known = hash !== null && isKnownHash(hash) ? hash : nobodys
      return inTurn(async () => {
        const same = await (BCRYPT.test(known) ? bcrypt.verify(text, known) : argon2.verify(known, text))
        return same && !(BCRYPT.test(known) && Buffer.byteLength(text) > BCRYPT_BYTES)
      })
    }
  }
}

/**
 * Whether a hash can be verified here, at a bearable cost: argon2 with m <= 65536, t <= 10, p <= 16, or bcrypt with a
 * cost of at most 12.
 */
export function isKnownHash (text: string): boolean {
  if (BCRYPT.test(text)) return true
  const parameters = argon2Parameters(text)
  return (
    parameters !== undefined &&
    parameters.memoryCost <= DEAREST.memoryCost &&
    parameters.timeCost <= DEAREST.timeCost &&
    parameters.parallelism <= DEAREST.parallelism &&
    parameters.outputLen >= SHORTEST_OUTPUT_BYTES
  )
}

/** Whether a hash should be replaced by one of ours when its password is next known. */
export function needsRehash (hash: string): boolean {
  const parameters = argon2Parameters(hash)
  return parameters === undefined || !hash.startsWith('$argon2id$v=19$') ||
    parameters.memoryCost < COST.memoryCost || parameters.timeCost < COST.timeCost ||
    parameters.saltLen < SALT_BYTES || parameters.outputLen < OUTPUT_BYTES
}

/**
 * What speaks against a password, in the words of Supabase Auth: fewer than 8 or more than 128 characters, characters
 * that cannot be typed alike everywhere, or known to everybody (in any case of its letters, and the account's own
 * address and its first part).
 */
export function passwordProblems (password: string, email?: string): PasswordProblem[] {
  const text = password.normalize('NFC')
  const length = [...text].length
  const folded = text.toLowerCase()
  const address = email?.trim().normalize('NFC').toLowerCase()
  const problems: [PasswordProblem, boolean][] = [
    ['length', length < MIN_LENGTH || length > MAX_LENGTH],
    ['characters', UNTYPABLE.test(text)],
    [
      'pwned',
      COMMON_PASSWORDS.has(folded) || folded === address || folded === address?.slice(0, address.lastIndexOf('@'))
    ]
  ]
  return problems.filter(([, found]) => found).map(([problem]) => problem)
}

/**
 * Runs tasks at most `atOnce` at a time, in the order in which they came.
 * @throws ServizioOccupato when `waiting` others wait already
 */
export function takeTurns (atOnce: number, waiting: number): <T> (task: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = []
  let running = 0

  return async function inTurn (task) {
    if (running < atOnce) running++
    else if (queue.length < waiting) await new Promise<void>((resolve) => queue.push(resolve))
    else throw new ServizioOccupato()
    try {
      return await task()
    } finally {
      // Whoever waits takes over the place: it is never free in between for somebody who comes later.
      const next = queue.shift()
      if (next) next()
      else running--
    }
  }
}

/** A hash like ours that no password has: verifying against it costs the same. */
function hashOfNobody (): string {
  const [salt, output] = [SALT_BYTES, OUTPUT_BYTES].map((bytes) =>
    randomBytes(bytes).toString('base64').replaceAll('=', '')
  )
  return `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$${salt}$${output}`
}

function argon2Parameters (text: string): argon2.ParsedHashOptions | undefined {
  if (!text.startsWith('$argon2') || text.length > LONGEST_HASH) return undefined
  try {
    return argon2.parseOptions(text)
  } catch {
    return undefined
  }
}
