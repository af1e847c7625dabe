import { cpuUsage } from 'node:process'
import { setImmediate } from 'node:timers/promises'
import * as bcrypt from '@node-rs/bcrypt'
import t from 'tap'
import { COMMON_PASSWORDS } from '#src/identity/sign-in/common-passwords.ts'
import {
  createPasswords, isKnownHash, needsRehash, passwordProblems, takeTurns
} from '#src/identity/sign-in/passwords.ts'

const passwords = createPasswords()

/**
 * From the test files of the reference implementations of argon2 (`password`) and of crypt_blowfish, and what others
 * wrote of them.
 */
const ARGON2 = [
  '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
  '$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA',
  '$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ'
]
const BCRYPT: readonly [string, string][] = [
  ['U*U', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  ['U*U*', '$2b$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK'],
  ['U*U*U', '$2y$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a']
]

const hash = (parameters: string) =>
  `$argon2id$v=19$${parameters}$MZUUeySQEzc0XEJHNRuQuQ$MjoSTFDZBtX2Tl58m+yJFrxJSWeeR7OlJPl2wf8IAr4`
const bcryptOf = (head: string) => `${head}$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW`

t.test('a password is hashed with argon2id at the OWASP minimum, with a new salt each time', async (t) => {
  const [one, two] = await Promise.all([passwords.hash('però, che notte'), passwords.hash('però, che notte')])
  t.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  t.not(one, two)
  t.equal(await passwords.verify(one, 'però, che notte'), true)
  for (const wrong of ['però, che nott', 'però, che notte ', 'Però, che notte', '', one]) {
    t.equal(await passwords.verify(one, wrong), false, wrong)
  }
  t.equal(isKnownHash(one), true)
  t.equal(needsRehash(one), false)
})

t.test('the same characters match in every Unicode form, and similar characters do not match', async (t) => {
  const composed = await passwords.hash('caff\u00e8 ①')
  t.equal(await passwords.verify(composed, 'caffe\u0300 ①'), true)
  t.equal(await passwords.verify(await passwords.hash('caffe\u0300 ①'), 'caff\u00e8 ①'), true)
  t.equal(await passwords.verify(composed, 'caff\u00e8 1'), false)
})

t.test('argon2 hashes of other programs are read, with any variant, version and parameters', async (t) => {
  for (const known of ARGON2) {
    t.equal(isKnownHash(known), true, known)
    t.equal(await passwords.verify(known, 'password'), true, known)
    t.equal(await passwords.verify(known, 'passwore'), false, known)
  }
})

t.test('bcrypt hashes are read under their three good prefixes', async (t) => {
  for (const [password, known] of BCRYPT) {
    t.equal(await passwords.verify(known, password), true, known)
    t.equal(await passwords.verify(known, `${password}*`), false, known)
    t.equal(needsRehash(known), true)
    for (const wrong of ['$2x', '$2', '$2c']) {
      t.equal(await passwords.verify(known.replace(/^\$2[aby]/, wrong), password), false, wrong)
    }
  }
})

t.test('a password longer than bcrypt reads never matches a bcrypt hash, and one of 72 bytes does', async (t) => {
  const full = `${'è'.repeat(35)}xy`
  const known = await bcrypt.hash(full, 4)
  t.equal(await bcrypt.verify(`${full}z`, known), true, 'bcrypt itself does not see the end')
  t.equal(await passwords.verify(known, full), true)
  t.equal(await passwords.verify(known, `${full}z`), false)
})

t.test('verifying without a hash, or with an unreadable one, costs as much work as with a good one', async (t) => {
  const known = await passwords.hash('la password giusta')
  const work = { known: Infinity, nobody: Infinity, unreadable: Infinity }
  const measured = async (who: keyof typeof work, text: string | null) => {
    const before = cpuUsage()
    t.equal(await passwords.verify(text, 'quella sbagliata'), false)
    const { user, system } = cpuUsage(before)
    work[who] = Math.min(work[who], user + system)
  }
  for (let round = 0; round < 8; round++) {
    await measured('known', known)
    await measured('nobody', null)
    await measured('unreadable', 'x')
  }
  // Processor time, not the clock's, and the least of the rounds: other threads of the process only add to it. Without
  // the work it would be a hundredth.
  for (const who of ['nobody', 'unreadable'] as const) {
    t.ok(work[who] > work.known / 3 && work[who] < work.known * 3, `${who}: ${work[who]} of ${work.known}`)
  }
})

t.test('a hash from elsewhere is accepted only when verifying it is not too costly', async (t) => {
  const taken = [
    'm=65536,t=10,p=16', 'm=8,t=1,p=1', 'm=19456,t=2,p=1', 't=2,m=19456,p=1'
  ].map(hash).concat(['$2a$04', '$2b$10', '$2y$12'].map(bcryptOf))
  const refused = [
    'm=65537,t=2,p=1', 'm=4294967295,t=2,p=1', 'm=19456,t=11,p=1', 'm=19456,t=4294967295,p=1', 'm=19456,t=2,p=17',
    'm=19456,t=2', 'm=19456'
  ]
    .map(hash)
    .concat(['$2a$13', '$2b$31', '$2a$03', '$2a$1', '$2x$10', '$2a$+4'].map(bcryptOf), [
      '', 'password', '$argon2id$', `${hash('m=64,t=1,p=1')} `, ` ${hash('m=64,t=1,p=1')}`, `${bcryptOf('$2a$10')}\n`,
      `${bcryptOf('$2a$10')}x`, '$argon2id$v=19$m=64,t=1,p=1$MZUUeySQEzc0XEJHNRuQuQ$MjoSTFBZ',
      `$argon2id$v=19$m=64,t=1,p=1$MZUUeySQEzc0XEJHNRuQuQ$${'MjoS'.repeat(80)}`,
      '$5$rounds=5000$salt$1YX8h3y5PjVv6wzJkV6iN8x', '{SSHA}x',
      '$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E'
    ])
  for (const text of taken) t.equal(isKnownHash(text), true, text)
  for (const text of refused) {
    t.equal(isKnownHash(text), false, text)
    t.equal(await passwords.verify(text, 'x'), false, `and is not verified either: ${text}`)
  }
})

t.test('every hash weaker than ours is to be replaced, and stronger ones are not', async (t) => {
  for (const same of ['m=19456,t=2,p=1', 'm=65536,t=3,p=4', 'm=19456,t=3,p=1'].map(hash)) {
    t.equal(needsRehash(same), false, same)
  }
  const weaker = ['m=19455,t=2,p=1', 'm=65536,t=1,p=1', 'm=8,t=1,p=1'].map(hash).concat(ARGON2.slice(1), [
    hash('m=19456,t=2,p=1').replace('$v=19', '$v=16'),
    '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$MjoSTFDZBtX2Tl58m+yJFrxJSWeeR7OlJPl2wf8IAr4',
    '$argon2id$v=19$m=19456,t=2,p=1$MZUUeySQEzc0XEJHNRuQuQ$MjoSTFDZBtX2Tl58m+yJFg'
  ])
  for (const text of weaker) {
    t.equal(isKnownHash(text), true, text)
    t.equal(needsRehash(text), true, text)
  }
})

t.test('tasks run in order up to the concurrency limit, and a task beyond the queue is refused', async (t) => {
  const inTurn = takeTurns(2, { first: 3, later: 0 })
  const started: number[] = []
  const tasks = Array.from({ length: 6 }, () => Promise.withResolvers<number>())
  const run = (n: number) =>
    inTurn('first', () => {
      started.push(n)
      return tasks[n]!.promise
    })
  const results = [0, 1, 2, 3, 4].map(run)
  t.same(started, [0, 1])
  await t.rejects(run(5), { code: 'SERVIZIO_OCCUPATO', statusCode: 503 })

  tasks[1]!.resolve(1)
  t.equal(await results[1], 1)
  await setImmediate()
  t.same(started, [0, 1, 2])
  results.push(run(5))
  await setImmediate()
  t.same(started, [0, 1, 2], 'nobody passes those who wait')

  tasks[0]!.reject(new Error('guasto'))
  await t.rejects(results[0]!, { message: 'guasto' })
  await setImmediate()
  t.same(started, [0, 1, 2, 3], 'a failure frees its place, too')

  for (const { resolve } of tasks) resolve(0)
  await Promise.allSettled(results)
  t.same(started, [0, 1, 2, 3, 4, 5])
  t.equal(await inTurn('first', async () => 'libero'), 'libero')
})

t.test('hashing for strangers comes after all sign-ins, and takes no place of theirs', async (t) => {
  const inTurn = takeTurns(1, { first: 2, later: 2 })
  const done: string[] = []
  const running = Promise.withResolvers<void>()
  const run = (turn: 'first' | 'later') => inTurn(turn, async () => {
    await running.promise
    done.push(turn)
  })
  const tasks = [run('later'), run('later'), run('later'), run('first'), run('first')]
  for (const turn of ['later', 'first'] as const) await t.rejects(run(turn), { code: 'SERVIZIO_OCCUPATO' })
  running.resolve()
  await Promise.all(tasks)
  t.same(done, ['later', 'first', 'first', 'later', 'later'])
})

t.test('while there are imported hashes a wrong password waits for a whole second, without its turn', async (t) => {
  const slow = createPasswords({ atOnce: 1, hasImportedHashes: async () => true })
  const answered: string[] = []
  const began = performance.now()
  let waited = 0
  await Promise.all([
    slow.verify(null, 'sbagliata').then(() => { waited = performance.now() - began }),
    slow.verify(BCRYPT[0]![1], 'U*U').then((isRight) => answered.push(String(isRight))),
    slow.hash('una password').then(() => answered.push('hash'))
  ])
  t.same(answered, ['true', 'hash'])
  t.ok(waited > 990)
  t.match(await slow.hash('una password'), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/, 'what the table knows as ours')
})

t.test('a password has 8 to 128 characters, counted as a person counts them', async (t) => {
  t.same(passwordProblems('x7#kQ!z'), ['length'])
  t.same(passwordProblems('x7#kQ!zp'), [])
  t.same(passwordProblems('🏨'.repeat(7)), ['length'])
  t.same(passwordProblems('🏨'.repeat(8)), [])
  t.same(passwordProblems('e\u0300'.repeat(128)), [])
  t.same(passwordProblems('è'.repeat(129)), ['length'])
  t.same(passwordProblems(''), ['length'])
})

t.test('spaces and letters of every script are allowed, control characters and lone surrogates are not', async (t) => {
  for (const good of ['tre parole corte', 'пароль-длинный', '密码密码密码密码', 'però così è già']) {
    t.same(passwordProblems(good), [], good)
  }
  for (const bad of [
    'una\u0000password', 'una\npassword', 'una\tpassword', 'una\u0085password', 'una\ud83cpassword',
    'una password\udfe8'
  ]) { t.same(passwordProblems(bad), ['characters'], JSON.stringify(bad)) }
})

t.test('a well-known password is refused in upper and lower case', async (t) => {
  t.ok(COMMON_PASSWORDS.size > 500)
  for (const known of COMMON_PASSWORDS) {
    t.ok([...known].length >= 8 && known === known.normalize('NFC').toLowerCase(), known)
    if (!passwordProblems(known.toUpperCase()).includes('pwned')) t.fail(known)
  }
  for (const known of ['password', 'Password1', 'JUVENTUS', 'Albergo123']) t.same(passwordProblems(known), ['pwned'])
  t.same(passwordProblems('password di casa'), [])
})

t.test('the account’s address and its first part are refused as passwords', async (t) => {
  const email = ' Anna.Caffè@Esempio.IT'
  for (const own of ['anna.caffè@esempio.it', 'ANNA.CAFFE\u0300', 'anna.caffè']) {
    t.same(passwordProblems(own, email), ['pwned'], own)
  }
  t.same(passwordProblems('anna.caffè1', email), [])
  t.same(passwordProblems('anna.caffè'), [])
  t.same(passwordProblems('rosa', 'rosa@esempio.it'), ['length', 'pwned'])
})
