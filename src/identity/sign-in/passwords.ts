import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import * as argon2 from '@node-rs/argon2'
import * as bcrypt from '@node-rs/bcrypt'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { AuthError } from '../errors.ts'
import { COMMON_PASSWORDS } from './common-passwords.ts'

/**
 * Passwords are compared in Unicode's composed form (NFC), so that `è` from any keyboard is one character. NFKC would
 * make visibly different passwords equal (`①` and `1`).
 */
export interface Passwords {
  /** An argon2id hash in PHC format. @throws ServizioOccupato after too long a wait */
  hash (password: string, turn?: Turn): Promise<string>
  /**
   * Whether the password matches the hash. Null (no account, or an account without a password) and an unknown kind of
   * hash return false after the same work. @throws ServizioOccupato, and errors of `hasImportedHashes`
   */
  verify (hash: string | null, password: string, turn?: Turn): Promise<boolean>
}

export interface Turn {
  /** `later` is for work that strangers can cause without an account. Sign-ins have precedence. */
  order?: 'first' | 'later'
  /** The response that waits. The wait counts from the arrival of its request. */
  reply?: { elapsedTime: number }
}

interface PasswordLimits {
  atOnce?: number
  /** Maximum age of a request in milliseconds while its password waits for a slot. */
  waitMs?: number
  /** True if any account has an imported hash. Verifying such a hash takes a different time. */
  hasImportedHashes?: () => Promise<boolean>
}

/** `characters` means control characters or lone surrogates, because clients encode them in different ways. */
type PasswordProblem = 'length' | 'characters' | 'pwned'

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

/** Maximum cost of an imported hash, about seventeen times that of a new hash. Every sign-in attempt has this cost. */
const MAX_COST = { memoryCost: 65_536, timeCost: 10, parallelism: 16 }
const MAX_HASH_LENGTH = 300
/** 80 bits: a shorter output could match by chance. */
const MIN_OUTPUT_BYTES = 10

/** Costs 04 to 12. `$2x$` is excluded, because it marks hashes of a defective implementation. */
const BCRYPT = /^\$2[aby]\$(?:0[4-9]|1[0-2])\$[./A-Za-z0-9]{53}$/
/** bcrypt ignores all bytes after these. */
const BCRYPT_BYTES = 72

/** Longer than most hashes take. If a hash takes longer, the response waits for the next multiple. */
const STEP_MS = 1000

const UNTYPABLE = /[\p{Cc}\p{Cs}]/u

/**
 * Hashes and verifies passwords with limited concurrency: of several cores, one stays free. While imported hashes
 * exist, the response to a wrong password waits until a whole number of seconds after the start of its work. So the
 * time reveals neither the kind of the hash nor whether a hash exists. The slot is released before this wait.
 */
export function createPasswords ({
  atOnce = Math.max(1, availableParallelism() - 1),
  waitMs = 10_000,
  hasImportedHashes = async () => false
}: PasswordLimits = {}): Passwords {
  const inTurn = taskQueue(atOnce, waitMs)
  const dummyHash = hashWithoutPassword()

  return {
    hash: (password, turn = {}) => inTurn(turn, () => argon2.hash(password.normalize('NFC'), COST)),
    async verify (hash, password, turn = {}) {
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
 * Whether a hash can be verified at an acceptable cost: argon2 with m <= 65536, t <= 10, p <= 16 and an output of at
 * least 80 bits, or bcrypt with a cost of at most 12.
 */
export function isKnownHash (text: string): boolean {
  if (BCRYPT.test(text)) return true
  const parameters = argon2Parameters(text)
  return (
    parameters !== undefined && parameters.memoryCost <= MAX_COST.memoryCost &&
    parameters.timeCost <= MAX_COST.timeCost &&
    parameters.parallelism <= MAX_COST.parallelism &&
    parameters.outputLen >= MIN_OUTPUT_BYTES
  )
}

export function needsRehash (hash: string): boolean {
  const parameters = argon2Parameters(hash)
  return parameters === undefined || !hash.startsWith('$argon2id$v=19$') ||
    parameters.memoryCost < COST.memoryCost || parameters.timeCost < COST.timeCost ||
    parameters.saltLen < SALT_BYTES || parameters.outputLen < OUTPUT_BYTES
}

/**
 * Returns the reasons to reject a password, named as in Supabase Auth. It must have 8 to 128 characters, none that
 * clients encode in different ways, and must not be well-known. The comparison with well-known passwords ignores case,
 * and includes the account's address and its first part.
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

/** @throws AuthError weak_password */
export function requireStrongPassword (password: string, email: string): void {
  const reasons = passwordProblems(password, email)
  if (reasons.length > 0) {
    const isLong = password.length > MAX_LENGTH
    const message = isLong ? TOO_LONG : reasons.map((reason) => WEAKNESSES[reason]).join(' ')
    throw new AuthError('weak_password', { message, reasons })
  }
}

/**
 * Runs at most `atOnce` tasks at a time, in the order of the calls, but `later` ones after all waiting others.
 * @throws ServizioOccupato when a task has not started `waitMs` after its request arrived. Without `reply`, the time
 * counts from the call
 */
export function taskQueue (
  atOnce: number, waitMs: number
): <T> (turn: Turn, task: () => Promise<T>) => Promise<T> {
  const queues: Readonly<Record<NonNullable<Turn['order']>, Set<() => void>>> = { first: new Set(), later: new Set() }
  let running = 0

  async function wait ({ order = 'first', reply }: Turn): Promise<void> {
    const queue = queues[order]
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    queue.add(resolve)
    const timer = setTimeout(() => {
      queue.delete(resolve)
      reject(new ServizioOccupato())
    }, Math.max(0, waitMs - (reply?.elapsedTime ?? 0)))
    await promise.finally(() => clearTimeout(timer))
  }

  return async function inTurn (turn, task) {
    if (running < atOnce) running++
    else await wait(turn)
    try {
      return await task()
    } finally {
      // The next waiting task gets the slot directly, so a new task cannot overtake it.
      const queue = queues.first.size > 0 ? queues.first : queues.later
      const [next] = queue
      if (next) {
        queue.delete(next)
        next()
      } else running--
    }
  }
}

/** A hash that no password matches. A verification against it costs as much as against a real hash. */
function hashWithoutPassword (): string {
  const [salt, output] = [SALT_BYTES, OUTPUT_BYTES].map((bytes) =>
    randomBytes(bytes).toString('base64').replaceAll('=', '')
  )
  return `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$${salt}$${output}`
}

function argon2Parameters (text: string): argon2.ParsedHashOptions | undefined {
  if (!text.startsWith('$argon2') || text.length > MAX_HASH_LENGTH) return undefined
  try {
    return argon2.parseOptions(text)
  } catch {
    return undefined
  }
}
