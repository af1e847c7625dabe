import { cpuUsage } from 'node:process'
import { setImmediate } from 'node:timers/promises'
import * as bcrypt from '@node-rs/bcrypt'
import fc from 'fast-check'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SaxesParser } from 'saxes'
import t from 'tap'
import { browserCookie } from '#src/identity/sign-in/browser-cookie.ts'
import { COMMON_PASSWORDS } from '#src/identity/sign-in/common-passwords.ts'
import { composeMail } from '#src/identity/sign-in/account-mails.ts'
import { type MailKind } from '#src/identity/sign-in/mail-texts/mail-wording.ts'
import {
  createPasswords, isKnownHash, needsRehash, passwordProblems, taskQueue
} from '#src/identity/sign-in/passwords.ts'
import { allowedRedirect } from '#src/identity/sign-in/redirects.ts'
import { anyCharacter } from '#test/any-character.ts'
import { FRONT_END, setting, SIGNUP } from '#test/identity/oauth/setting.ts'

const passwords = createPasswords()

/**
 * Hashes from the tests of the reference implementations of argon2 (`password`) and crypt_blowfish, and from articles
 * about them.
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

t.test('argon2 hashes of other programs are accepted, with any variant, version and parameters', async (t) => {
  for (const known of ARGON2) {
    t.equal(isKnownHash(known), true, known)
    t.equal(await passwords.verify(known, 'password'), true, known)
    t.equal(await passwords.verify(known, 'passwore'), false, known)
  }
})

t.test('bcrypt hashes are accepted with their three valid prefixes', async (t) => {
  for (const [password, known] of BCRYPT) {
    t.equal(await passwords.verify(known, password), true, known)
    t.equal(await passwords.verify(known, `${password}*`), false, known)
    t.equal(needsRehash(known), true)
    for (const wrong of ['$2x', '$2', '$2c']) {
      t.equal(await passwords.verify(known.replace(/^\$2[aby]/, wrong), password), false, wrong)
    }
  }
})

t.test('a password longer than 72 bytes never matches a bcrypt hash, and one of 72 bytes does', async (t) => {
  const full = `${'è'.repeat(35)}xy`
  const known = await bcrypt.hash(full, 4)
  t.equal(await bcrypt.verify(`${full}z`, known), true, 'bcrypt ignores the end')
  t.equal(await passwords.verify(known, full), true)
  t.equal(await passwords.verify(known, `${full}z`), false)
})

t.test('a check without a hash, or with an unreadable one, costs about as much as with a valid one', async (t) => {
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
  // CPU time, as the minimum of the rounds, because other threads only add to it. Without the dummy work it would be a
  // hundredth.
  for (const who of ['nobody', 'unreadable'] as const) {
    t.ok(work[who] > work.known / 3 && work[who] < work.known * 3, `${who}: ${work[who]} of ${work.known}`)
  }
})

t.test('an imported hash is accepted only if its check is not too expensive', async (t) => {
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

t.test('a hash with a lower cost than a new one is replaced, and one with a higher cost is kept', async (t) => {
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

t.test('tasks run in order, up to the concurrency limit, with any number waiting', async (t) => {
  const inTurn = taskQueue(2, 60_000)
  const started: number[] = []
  const tasks = Array.from({ length: 6 }, () => Promise.withResolvers<number>())
  const run = (n: number) =>
    inTurn({}, () => {
      started.push(n)
      return tasks[n]!.promise
    })
  const results = [0, 1, 2, 3, 4].map(run)
  t.same(started, [0, 1])

  tasks[1]!.resolve(1)
  t.equal(await results[1], 1)
  await setImmediate()
  t.same(started, [0, 1, 2])
  results.push(run(5))
  await setImmediate()
  t.same(started, [0, 1, 2], 'no task overtakes waiting ones')

  tasks[0]!.reject(new Error('guasto'))
  await t.rejects(results[0]!, { message: 'guasto' })
  await setImmediate()
  t.same(started, [0, 1, 2, 3], 'a failure also frees its slot')

  for (const { resolve } of tasks) resolve(0)
  await Promise.allSettled(results)
  t.same(started, [0, 1, 2, 3, 4, 5])
  t.equal(await inTurn({}, async () => 'libero'), 'libero')
})

t.test('hashes for unknown people are computed after those of all waiting sign-ins', async (t) => {
  const inTurn = taskQueue(1, 60_000)
  const done: string[] = []
  const running = Promise.withResolvers<void>()
  const run = (order: 'first' | 'later') => inTurn({ order }, async () => {
    await running.promise
    done.push(order)
  })
  const tasks = [run('later'), run('later'), run('later'), run('first'), run('first')]
  running.resolve()
  await Promise.all(tasks)
  t.same(done, ['later', 'first', 'first', 'later', 'later'])
})

t.test('a sign-in that waits too long for a slot is answered with a 503, and the next one gets the slot', async (t) => {
  const inTurn = taskQueue(1, 50)
  const running = Promise.withResolvers<void>()
  const first = inTurn({}, () => running.promise)
  await t.rejects(inTurn({}, async () => 'mai'), { code: 'SERVIZIO_OCCUPATO', statusCode: 503 })
  const next = inTurn({}, async () => 'ora')
  running.resolve()
  await first
  t.equal(await next, 'ora')
})

t.test('the wait of a request counts from its arrival, and includes its earlier password checks', async (t) => {
  const inTurn = taskQueue(1, 60_000)
  const running = Promise.withResolvers<void>()
  const reply = { elapsedTime: 60_000 }
  const first = inTurn({}, () => running.promise)
  await t.rejects(inTurn({ reply }, async () => 'mai'), { code: 'SERVIZIO_OCCUPATO', statusCode: 503 })
  running.resolve()
  await first
  t.equal(await inTurn({ reply }, async () => 'ora'), 'ora', 'a free slot needs no waiting')
})

t.test('while imported hashes exist, a wrong password takes a whole second, but frees its slot earlier', async (t) => {
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
  t.match(await slow.hash('una password'), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/, 'the database does not count it as imported')
})

t.test('a password has 8 to 128 characters, as a person counts them', async (t) => {
  t.same(passwordProblems('x7#kQ!z'), ['length'])
  t.same(passwordProblems('x7#kQ!zp'), [])
  t.same(passwordProblems('🏨'.repeat(7)), ['length'])
  t.same(passwordProblems('🏨'.repeat(8)), [])
  t.same(passwordProblems('e\u0300'.repeat(128)), [])
  t.same(passwordProblems('è'.repeat(129)), ['length'])
  t.same(passwordProblems(''), ['length'])
})

t.test('spaces and letters of every script are allowed, but no control characters and lone surrogates', async (t) => {
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

const LINK = 'https://locanda.example/auth/v1/verify?token=abc123&type=signup&redirect_to=https%3A%2F%2Fapp.example%2F'
const CODE = '042917'
const EMAIL = 'ada@ospiti.example'

/** The subject and the first words of each kind. */
const KINDS: Record<MailKind, [subject: RegExp, about: RegExp]> = {
  signup: [/^Conferma la registrazione/, /chiesta la registrazione/],
  recovery: [/^Reimposta la password/, /reimpostare la password/],
  magiclink: [/collegamento per accedere/, /chiesto di accedere/],
  invite: [/^Invito/, /un invito a usare/],
  email_change: [/nuovo indirizzo e-mail/, /cambiare l’indirizzo/],
  reauthentication: [/codice di verifica/, /serve un codice di verifica/]
}
const kinds = Object.keys(KINDS) as MailKind[]

interface Read { text: string, title: string, links: string[], tags: Set<string>, attributes: Set<string> }

/**
 * Parses HTML as a mail program does. This server's HTML is well-formed, except for the doctype and the void element.
 */
function read (html: string): Read {
  const seen: Read = { text: '', title: '', links: [], tags: new Set(), attributes: new Set() }
  const parser = new SaxesParser()
  const open: string[] = []
  parser.on('error', (err) => { throw err })
  parser.on('opentag', ({ name, attributes }) => {
    open.push(name)
    seen.tags.add(name)
    for (const [attribute, value] of Object.entries(attributes)) {
      seen.attributes.add(attribute)
      if (attribute === 'href') seen.links.push(value)
    }
  })
  parser.on('closetag', ({ name }) => {
    open.pop()
    if (name === 'p') seen.text += '\n\n'
  })
  parser.on('text', (text) => {
    if (open.at(-1) === 'title') seen.title += text
    else if (open.includes('p')) seen.text += text
  })
  parser.write(html.replace('<!doctype html>', '').replace('<meta charset="utf-8">', '<meta charset="utf-8"/>')).close()
  return seen
}

t.test('each mail states in Italian its reason and its expiry, and that it may be ignored', async (t) => {
  for (const kind of kinds) {
    const [subject, about] = KINDS[kind]
    const mail = composeMail(kind, { link: LINK, code: CODE, email: EMAIL })
    t.match(mail.subject, subject)
    t.match(mail.text, about)
    t.match(mail.text, /24 ore e una volta sola/)
    t.match(mail.text, /inattes[ao]|non è stata chiesta/)
    t.ok(mail.text.includes(EMAIL))
    t.ok(mail.text.split('\n').includes(CODE), 'the code is on a separate line')
    t.equal(mail.text.split('\n').includes(LINK), kind !== 'reauthentication',
      'a link is on a separate line')
    t.notMatch(mail.subject, CODE)
  }
  t.equal(new Set(kinds.map((kind) => composeMail(kind, { link: LINK, code: CODE }).subject)).size, kinds.length)
})

t.test('the HTML has the same content as the text, shows the URL of its link, and loads nothing', async (t) => {
  for (const kind of kinds) {
    const mail = composeMail(kind, { link: LINK, code: CODE, email: EMAIL })
    const html = read(mail.html)
    t.equal(html.text.trim(), mail.text.trim())
    t.equal(html.title, mail.subject)
    t.same(html.links, kind === 'reauthentication' ? [] : [LINK])
    t.same(
      [...html.tags].filter((tag) => !['html', 'head', 'meta', 'title', 'body', 'p', 'a', 'strong'].includes(tag)),
      []
    )
    t.same([...html.attributes].filter((attribute) => !['lang', 'charset', 'href'].includes(attribute)), [])
  }
})

const inItalian = (kind: MailKind) => composeMail(kind, { link: LINK, code: CODE, email: EMAIL })

t.test('in every other language a mail has the same content, and no Italian words', async (t) => {
  for (const language of ['en', 'de', 'fr'] as const) {
    const subjects = kinds.map((kind) => {
      const mail = composeMail(kind, { link: LINK, code: CODE, email: EMAIL }, language)
      for (const part of [EMAIL, CODE, ...(kind === 'reauthentication' ? [] : [LINK])]) t.ok(mail.text.includes(part))
      t.match(mail.html, `<html lang="${language}">`)
      t.notMatch(mail.text, /Inserire|collegamento|Se non|Indirizzo/i)
      t.equal(mail.text.split('\n\n').length, inItalian(kind).text.split('\n\n').length)
      return mail.subject
    })
    t.equal(new Set(subjects).size, kinds.length)
  }
})

t.test('a mail without an address names none, and a mail with only a code needs no link', async (t) => {
  t.notMatch(composeMail('signup', { link: LINK, code: CODE }).text, /Account/)
  t.notMatch(composeMail('reauthentication', { code: CODE }).text, /collegamento/)
})

t.test('a link that is missing, or not http(s), is refused', async (t) => {
  const links = [undefined, '', 'javascript:alert(1)', 'data:text/html,x', '/auth/v1/verify', 'file:///etc/passwd']
  for (const link of links) t.throws(() => composeMail('recovery', { link, code: CODE }), TypeError)
})

t.test('no inserted value becomes markup, or a line of the text', async (t) => {
  const hostile = fc.array(
    fc.oneof(
      fc.constantFrom(
        '<b>', '</p>', '"', "'", '&', '&lt;', '<!--', '-->', '<script>', '" onclick="x', '\r\n', '\u2028', '\0',
        ' ', 'Se la richiesta è inattesa'
      ),
      fc.string({ unit: anyCharacter, maxLength: 10 })
    ),
    { maxLength: 8 }
  )
    .map((parts) => parts.join(''))
  fc.assert(fc.property(fc.constantFrom(...kinds), hostile, hostile, (kind, query, email) => {
    const link = `https://locanda.example/auth/v1/verify?redirect_to=${query}#${query}`
    const plain = composeMail(kind, { link: LINK, code: CODE, email: EMAIL })
    const mail = composeMail(kind, { link, code: CODE, email })
    const html = read(mail.html)
    t.equal(html.text.trim(), mail.text.trim())
    t.same([html.tags, html.attributes], [read(plain.html).tags, read(plain.html).attributes])
    t.equal(mail.text.split('\n').length, plain.text.split('\n').length)
    t.same(html.links, kind === 'reauthentication' ? [] : [new URL(link).href])
    t.notMatch(html.links.join(), /[\s<>"]/)
  }), { numRuns: 300 })
})

t.test('a browser with two cookies of the name is not recognized, because one may be foreign', (t) => {
  const { remember, isSame } = browserCookie({ PUBLIC_URL: 'http://locanda.example' })
  const set: string[] = []
  const reply = { setCookie: (_name: string, value: string) => set.push(value) } as unknown as FastifyReply
  const asks = (...values: string[]) => ({
    headers: { cookie: values.map((value) => `locanda_browser=${value}`).join('; ') },
    cookies: { locanda_browser: values[0] }
  }) as unknown as FastifyRequest
  const { digest, giveCookie } = remember(asks())
  giveCookie(reply)
  const [own] = set as [string]
  const stranger = 'x'.repeat(43)
  t.ok(isSame(asks(own), digest))
  t.notOk(isSame(asks(stranger), digest))
  t.notOk(isSame(asks(own, stranger), digest))
  t.notSame(remember(asks(stranger, own)).digest, remember(asks(stranger)).digest, 'no cookie is accepted')
  t.end()
})

const CONFIG = {
  PUBLIC_URL: 'https://locanda.example', CORS_ORIGINS: [FRONT_END, 'http://localhost:5173'], REDIRECT_URLS: []
}

/** URLs that look like the front end's, or that browsers and servers parse differently. */
const TRAPS = [
  'https://evil.example/', '//evil.example', '\\\\evil.example', '/\\evil.example', 'https:evil.example',
  'https:/\\evil.example', 'https://app.example.evil.example/', 'https://app.example@evil.example/',
  'https://app.example:443@evil.example/', 'https://evil.example\\@app.example/',
  'https://evil.example#@app.example/', 'https://evil.example?https://app.example/',
  'https://app.example%2eevil.example/', 'https://app.example%00.evil.example/', 'https://evil@app.example/',
  'https://app.example:8443/', 'http://app.example/', 'https://app.example./', 'https://APP.example.evil/',
  'https://аpp.example/', 'blob:https://app.example/6f0f4c5e', 'filesystem:https://app.example/x',
  'javascript:alert(document.domain)//https://app.example', 'javascript://app.example/%0aalert(1)',
  'data:text/html,<script>alert(1)</script>', 'view-source:https://app.example/', 'com.example.app://arrivo',
  'https://app.example\nhttps://evil.example', ' https://evil.example', 'https://[::ffff:7f00:1]/', 'null', '/arrivo',
  'arrivo', 'http://127.0.0.1/', 'https://locanda.example/auth/v1/authorize?provider=google',
  'https://locanda.example/AUTH/V1/callback', 'https://locanda.example/auth/v1;a=b/verify',
  'https://locanda.example/auth;a=b/v1/verify', 'https://locanda.example/auth/v1%20/verify',
  'https://locanda.example/x/../auth/v1/verify', 'https://locanda.example/auth\\v1\\verify',
  'https://locanda.example/%61uth/v1/authorize?provider=google', 'https://locanda.example/%2561uth/v1/authorize',
  'https://locanda.example/auth%2Fv1%2Fcallback', 'https://locanda.example/auth%252Fv1',
  'https://locanda.example/x/%2e%2e%2fauth/v1/verify', 'https://locanda.example/x%2f..%2fauth/v1/verify',
  'https://locanda.example/x/%252e%252e/auth/v1/verify', 'https://locanda.example/x%5c..%5cauth%5cv1',
  'https://locanda.example//auth/v1/authorize', 'https://app.example//evil.example/',
  'https://app.example/%2F%2Fevil.example/', 'https://app.example/%2fevil.example/',
  'https://app.example/%5cevil.example/', 'https://app.example/%255cevil.example/',
  'https://app.example/%25252F%25252Fevil.example/', 'https://app.example/arrivo/..%2f..%2f',
  'https://app.example/arrivo/%2e%2e%2f%2e%2e', 'https://app.example/arrivo%0d%0aset-cookie:x',
  'https://app.example/arrivo%00', 'https://app.example/%', 'https://app.example/%ff'
]

t.test('a URL outside the allowed front ends is replaced by the front end’s own', async (t) => {
  for (const trap of TRAPS) t.equal(allowedRedirect(CONFIG, trap), FRONT_END, trap)
  for (const nothing of [undefined, '']) t.equal(allowedRedirect(CONFIG, nothing), FRONT_END)
  t.equal(allowedRedirect({ ...CONFIG, CORS_ORIGINS: [] }, TRAPS[0]), CONFIG.PUBLIC_URL)

  const { base, browser, provider } = await setting(t, SIGNUP)
  provider.person = { sub: 'anna-1', email: 'anna@example.org', email_verified: true }
  // Tests the whole flow for some of them.
  for (const trap of TRAPS.slice(0, 24).filter((_trap, n) => n % 4 === 0)) {
    const { url } = await browser().go(
      `${base}/auth/v1/authorize?provider=google&redirect_to=${encodeURIComponent(trap)}`
    )
    t.equal(url.origin + url.pathname, `${FRONT_END}/`, trap)
    t.ok(url.hash.includes('access_token='), 'the URL contains the session')
  }
})

t.test('a front end’s URL is kept, as browsers normalize it', (t) => {
  const asked = {
    'https://app.example': 'https://app.example/',
    'https://app.example/arrivo?a=1&b=%20#x': 'https://app.example/arrivo?a=1&b=%20#x',
    'https://APP.example:443/arrivo': 'https://app.example/arrivo',
    'https://app.example\\arrivo': 'https://app.example/arrivo',
    'https://app.example/arri\nvo\r\nset-cookie:x': 'https://app.example/arrivoset-cookie:x',
    'https://app.example/città': 'https://app.example/citt%C3%A0',
    'http://localhost:5173/': 'http://localhost:5173/',
    'https://locanda.example/ad/': 'https://locanda.example/ad/',
    'https://locanda.example/authors': 'https://locanda.example/authors',
    'https://app.example/a%2Fb/%C3%A0%20?n=%2F%2F': 'https://app.example/a%2Fb/%C3%A0%20?n=%2F%2F',
    'https://app.example/x/%2e%2e/arrivo': 'https://app.example/arrivo'
  }
  for (const [address, led] of Object.entries(asked)) t.equal(allowedRedirect(CONFIG, address), led)
  t.end()
})

t.test('with a path in PUBLIC_URL, only URLs below that path belong to the service', (t) => {
  const config = { PUBLIC_URL: 'https://host.example/locanda', CORS_ORIGINS: [FRONT_END], REDIRECT_URLS: [] }
  for (const inside of ['/locanda', '/locanda/', '/locanda/ad/?x=1']) {
    t.equal(allowedRedirect(config, `https://host.example${inside}`), `https://host.example${inside}`)
  }
  for (const outside of ['/', '/altro', '/locanda2', '/locanda/auth/v1/authorize', '/locanda/%2e%2e%2faltro']) {
    t.equal(allowedRedirect(config, `https://host.example${outside}`), FRONT_END, outside)
  }
  const shared = { ...config, CORS_ORIGINS: [FRONT_END, 'https://host.example'] }
  t.equal(allowedRedirect(shared, 'https://host.example/altro'), 'https://host.example/altro', 'also a front end')
  t.equal(allowedRedirect(shared, 'https://host.example/locanda/auth/v1/authorize'), FRONT_END)
  t.end()
})

t.test('a listed URL is kept, and a similar one is not', (t) => {
  const config = {
    ...CONFIG,
    REDIRECT_URLS: [
      'com.example.app://auth/arrivo', 'com.example.altra:/ritorno', 'exp://192.168.1.10:8081/--/**',
      'https://terza.example/ritorno', 'https://*.anteprime.example/**', 'https://terza.example/pagine/*'
    ]
  }
  for (const kept of [
    'com.example.app://auth/arrivo', 'com.example.app://auth/arrivo?a=1#b', 'com.example.altra:/ritorno',
    'exp://192.168.1.10:8081/--/a/b', 'https://terza.example/ritorno?codice=1', 'https://ramo-7.anteprime.example/',
    'https://ramo-7.anteprime.example/a/b.html', 'https://terza.example/pagine/uno'
  ]) t.equal(allowedRedirect(config, kept), kept)
  for (const trap of [
    ...TRAPS.filter((trap) => !trap.startsWith('com.example')),
    'com.example.app://auth/altrove',
    'com.example.app://altri/arrivo',
    'com.example.app:auth/arrivo',
    'com.example.app2://auth/arrivo',
    'https://auth/arrivo',
    'exp://192.168.1.11:8081/--/a',
    'exp://192.168.1.10:8081/--/../../a',
    'exp://192.168.1.10:8081/--/%2e%2e/a',
    'https://anteprime.example/',
    'https://a.b.anteprime.example/',
    'https://evil.example/.anteprime.example/',
    'https://evil.example#.anteprime.example/',
    'https://x:y@ramo.anteprime.example/',
    'http://terza.example/ritorno',
    'https://terza.example:444/ritorno',
    'https://terza.example/ritorno/altro',
    'https://terza.example/pagine/uno/due',
    'https://terzaXexample/ritorno'
  ]) t.equal(allowedRedirect(config, trap), FRONT_END, trap)
  t.end()
})

t.test('no spelling redirects to a foreign origin or path', (t) => {
  const origins = [...CONFIG.CORS_ORIGINS, CONFIG.PUBLIC_URL]
  const part = fc.constantFrom(
    'https:', 'http:', 'javascript:', 'blob:', '//', '/', '\\', '@', '#', '?', ':', '.', '%2f', '%40', '\t', '\n',
    ' ', 'app.example', 'evil.example', 'locanda.example', '\u3002', '\uff0f', 'auth', 'v1', '%61uth', '..', '%2e',
    '%5c', '%25', '2f', '5C', '61', ';'
  )
  /** Every text that results from this one by decoding it once or several times. */
  function readings (text: string): string[] {
    try {
      const next = decodeURIComponent(text)
      return next === text ? [text] : [text, ...readings(next)]
    } catch {
      return [text, '//']
    }
  }
  fc.assert(fc.property(fc.array(part, { maxLength: 12 }).map((parts) => parts.join('')), (address) => {
    const led = allowedRedirect(CONFIG, address)
    // Parses it again, as a browser reads the header.
    const { origin, pathname } = new URL(led)
    return origins.includes(origin) && /^https?:\/\/[^@\\\s/]*(\/[^\\\s]*)?$/.test(led.split(/[?#]/)[0]!) &&
      readings(pathname).every((path) => {
        // Parses it once more, like a browser or a server that normalizes paths.
        const again = new URL(`https://x.example${path}`)
        return again.host === 'x.example' && !path.includes('//') && !path.includes('\\') &&
          again.pathname.split('/').length === path.split('/').length &&
          (origin !== CONFIG.PUBLIC_URL || !/^\/auth\/v1(\/|$)/i.test(again.pathname))
      })
  }), { numRuns: 3000 })
  t.end()
})
