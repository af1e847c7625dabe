import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import * as argon2 from '@node-rs/argon2'
import * as bcrypt from '@node-rs/bcrypt'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { AuthError } from '../errors.ts'
import { COMMON_PASSWORDS } from './common-passwords.ts'

/**
 * Passwords are compared in Unicode's composed form (NFC), so that `è` typed on any keyboard is one character. Not
 * NFKC: it would make one password of visibly different ones (`①` and `1`).
 */
export interface Passwords {
  /** An argon2id hash in PHC format. @throws ServizioOccupato when too many are being computed */
  hash (password: string, turn?: Turn): Promise<string>
  /**
   * Whether the password is the one of the hash. Null (no such account, or one without a password) and an unknown kind
   * of hash are false after the same work. @throws ServizioOccupato, and what `hasImportedHashes` throws
   */
  verify (hash: string | null, password: string, turn?: Turn): Promise<boolean>
}

/** `later`: for what a stranger can cause without an account. Those who sign in come first, and have places apart. */
export type Turn = 'first' | 'later'

export interface PasswordLimits {
  atOnce?: number
  waiting?: Readonly<Record<Turn, number>>
  /** Whether there are accounts whose hash takes another time to check than ours. */
  hasImportedHashes?: () => Promise<boolean>
}

/** `characters`: control characters or lone surrogates, which clients send in different ways. */
export type PasswordProblem = 'length' | 'characters' | 'pwned'

const MIN_LENGTH = 8
const MAX_LENGTH = 128

export const PASSWORD_PROBLEMS: Readonly<Record<PasswordProblem, string>> = {
  length: `deve avere da ${MIN_LENGTH} a ${MAX_LENGTH} caratteri`,
  characters: 'contiene caratteri di controllo o non validi',
  pwned: 'è troppo facile da indovinare'
}

const WEAKNESSES: Readonly<Record<PasswordProblem, string>> = {
  length: `Password should be at least ${MIN_LENGTH} characters.`,
  characters: 'Password should not contain control or invalid characters.',
  pwned: 'Password is known to be weak and easy to guess, please choose a different one.'
}

const TOO_LONG = `Password cannot be longer than ${MAX_LENGTH} characters`

/** OWASP's minimum for argon2id (Password Storage Cheat Sheet): 19 MiB, two passes, one lane. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const SALT_BYTES = 16
const OUTPUT_BYTES = 32

/** What a hash from elsewhere may cost at most: about twenty times ours. It is paid at every attempt to sign in. */
const MAX_COST = { memoryCost: 65_536, timeCost: 10, parallelism: 16 }
const LONGEST_HASH = 300
/** 80 bits: a shorter output would be met by chance. */
const SHORTEST_OUTPUT_BYTES = 10

/** Costs 04 to 12. `$2x$` marks the hashes of a faulty implementation. */
const BCRYPT = /^\$2[aby]\$(?:0[4-9]|1[0-2])\$[./A-Za-z0-9]{53}$/
/** Bytes after these have no part in a bcrypt hash. */
const BCRYPT_BYTES = 72

/** Longer than the costliest hash takes. Where it is not, the answer comes with the next step. */
const STEP_MS = 1000

const UNTYPABLE = /[\p{Cc}\p{Cs}]/u

/**
 * Hashes and verifies passwords, a bounded number at once: one core stays free for other work. While there are imported
 * hashes a wrong password is answered a whole second after its turn began, so that the time tells neither the kind of
 * the hash nor whether there is one. By then others have had their turn.
 */
export function createPasswords ({
  atOnce = Math.max(1, availableParallelism() - 1),
  waiting = { first: 20, later: 5 },
  hasImportedHashes = async () => false
}: PasswordLimits = {}): Passwords {
  const inTurn = takeTurns(atOnce, waiting)
  const dummyHash = hashWithoutPassword()

  return {
    hash: (password, turn = 'first') => inTurn(turn, () => argon2.hash(password.normalize('NFC'), COST)),
    async verify (hash, password, turn = 'first') {
      const text = password.normalize('NFC')
      const known = hash !== null && isKnownHash(hash) ? hash : dummyHash
      let began = 0
      const isRight = await inTurn(turn, async () => {
        began = performance.now()
        const same = await (BCRYPT.test(known) ? bcrypt.verify(text, known) : argon2.verify(known, text))
        return same && !(BCRYPT.test(known) && Buffer.byteLength(text) > BCRYPT_BYTES)
      })
      if (!isRight && await hasImportedHashes()) await sleep(STEP_MS - (performance.now() - began) % STEP_MS)
      return isRight
    }
  }
}

/**
 * Whether a hash can be verified here at an acceptable cost: argon2 with m <= 65536, t <= 10, p <= 16, or bcrypt with a
 * cost of at most 12.
 */
export function isKnownHash (text: string): boolean {
  if (BCRYPT.test(text)) return true
  const parameters = argon2Parameters(text)
  return (
    parameters !== undefined && parameters.memoryCost <= MAX_COST.memoryCost &&
    parameters.timeCost <= MAX_COST.timeCost &&
    parameters.parallelism <= MAX_COST.parallelism &&
    parameters.outputLen >= SHORTEST_OUTPUT_BYTES
  )
}

export function needsRehash (hash: string): boolean {
  const parameters = argon2Parameters(hash)
  return parameters === undefined || !hash.startsWith('$argon2id$v=19$') ||
    parameters.memoryCost < COST.memoryCost || parameters.timeCost < COST.timeCost ||
    parameters.saltLen < SALT_BYTES || parameters.outputLen < OUTPUT_BYTES
}

/**
 * Why a password is refused, with the reasons of Supabase Auth: fewer than 8 or more than 128 characters, characters
 * that not every client sends in the same way, or well known (in upper or lower case; the account's own address and its
 * first part count as known).
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

export function requireStrongPassword (password: string, email: string): void {
  const reasons = passwordProblems(password, email)
  if (reasons.length > 0) {
    const isLong = password.length > MAX_LENGTH
    const message = isLong ? TOO_LONG : reasons.map((reason) => WEAKNESSES[reason]).join(' ')
    throw new AuthError('weak_password', { message, reasons })
  }
}

/**
 * Runs tasks at most `atOnce` at a time, in the order in which they came, but `later` ones after all others.
 * @throws ServizioOccupato when so many others of its kind wait already
 */
export function takeTurns (
  atOnce: number, waiting: Readonly<Record<Turn, number>>
): <T> (turn: Turn, task: () => Promise<T>) => Promise<T> {
  const queues: Readonly<Record<Turn, (() => void)[]>> = { first: [], later: [] }
  let running = 0

  return async function inTurn (turn, task) {
    const queue = queues[turn]
    if (running < atOnce) running++
    else if (queue.length < waiting[turn]) await new Promise<void>((resolve) => queue.push(resolve))
    else throw new ServizioOccupato()
    try {
      return await task()
    } finally {
      // The next waiting task takes over the turn: a new one cannot come in between.
      const next = queues.first.shift() ?? queues.later.shift()
      if (next) next()
      else running--
    }
  }
}

/** A hash that no password has. Verifying a password with it costs the same as with a real one. */
function hashWithoutPassword (): string {
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
