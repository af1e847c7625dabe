import fc from 'fast-check'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SaxesParser } from 'saxes'
import t from 'tap'
import { browsers } from '#src/identity/sign-in/browser.ts'
import { composeMail, type MailKind } from '#src/identity/sign-in/mails.ts'
import { allowedRedirect } from '#src/identity/sign-in/redirects.ts'
import { anyCharacter } from '#test/any-character.ts'
import { FRONT_END, setting, SIGNUP } from '#test/identity/oauth/setting.ts'

const LINK = 'https://locanda.example/auth/v1/verify?token=abc123&type=signup&redirect_to=https%3A%2F%2Fapp.example%2F'
const CODE = '042917'
const EMAIL = 'ada@ospiti.example'

/** The subject and the first words of each kind. */
const KINDS: Record<MailKind, [subject: RegExp, about: RegExp]> = {
  signup: [/^Conferma la registrazione/, /chiesta la registrazione/],
  recovery: [/^Reimposta la password/, /reimpostare la password/],
  magiclink: [/collegamento per accedere/, /chiesto di accedere/],
  invite: [/^Invito/, /ricevuto un invito/],
  email_change: [/nuovo indirizzo e-mail/, /cambiare l’indirizzo/],
  reauthentication: [/codice di verifica/, /serve un codice di verifica/]
}
const kinds = Object.keys(KINDS) as MailKind[]

interface Read { text: string, title: string, links: string[], tags: Set<string>, attributes: Set<string> }

/** HTML as a reader of it sees it. Ours is well-formed, but for the doctype and the void element. */
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

t.test('each mail says in Italian why it was sent, how long it is good, and that it may be ignored', async (t) => {
  for (const kind of kinds) {
    const [subject, about] = KINDS[kind]
    const mail = composeMail(kind, { link: LINK, code: CODE, email: EMAIL })
    t.match(mail.subject, subject)
    t.match(mail.text, about)
    t.match(mail.text, /24 ore e una volta sola/)
    t.match(mail.text, /Se non hai chiesto tu/)
    t.ok(mail.text.includes(EMAIL))
    t.ok(mail.text.split('\n').includes(CODE), 'the code stands on a line of its own')
    t.equal(mail.text.split('\n').includes(LINK), kind !== 'reauthentication',
      'and so does the link, where there is one')
    t.notMatch(mail.subject, CODE)
  }
  t.equal(new Set(kinds.map((kind) => composeMail(kind, { link: LINK, code: CODE }).subject)).size, kinds.length)
})

t.test('the HTML has the same content as the text, shows the address of its link, and loads nothing', async (t) => {
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

t.test('in every other language a mail holds the same, and none of its words are Italian', async (t) => {
  for (const language of ['en', 'de', 'fr'] as const) {
    const subjects = kinds.map((kind) => {
      const mail = composeMail(kind, { link: LINK, code: CODE, email: EMAIL }, language)
      for (const part of [EMAIL, CODE, ...(kind === 'reauthentication' ? [] : [LINK])]) t.ok(mail.text.includes(part))
      t.match(mail.html, `<html lang="${language}">`)
      t.notMatch(mail.text, /Inserisci|collegamento|Se non|Indirizzo/i)
      t.equal(mail.text.split('\n\n').length, inItalian(kind).text.split('\n\n').length)
      return mail.subject
    })
    t.equal(new Set(subjects).size, kinds.length)
  }
})

t.test('a mail without an address names none, and a mail with a code alone needs no link', async (t) => {
  t.notMatch(composeMail('signup', { link: LINK, code: CODE }).text, /Account/)
  t.notMatch(composeMail('reauthentication', { code: CODE }).text, /collegamento/)
})

t.test('a link that is missing, or not http(s), is refused', async (t) => {
  const links = [undefined, '', 'javascript:alert(1)', 'data:text/html,x', '/auth/v1/verify', 'file:///etc/passwd']
  for (const link of links) t.throws(() => composeMail('recovery', { link, code: CODE }), TypeError)
})

t.test('no value that is filled in becomes markup, or a line of the text', async (t) => {
  const hostile = fc.array(
    fc.oneof(
      fc.constantFrom(
        '<b>', '</p>', '"', "'", '&', '&lt;', '<!--', '-->', '<script>', '" onclick="x', '\r\n', '\u2028', '\0',
        ' ', 'Se non hai chiesto tu'
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

t.test('a browser that brings two cookies of the name is not known: another site may have set one', (t) => {
  const { remember, isSame } = browsers({ PUBLIC_URL: 'http://locanda.example' })
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
  t.notSame(remember(asks(stranger, own)).digest, remember(asks(stranger)).digest, 'nor is the first of them kept')
  t.end()
})

const CONFIG = {
  PUBLIC_URL: 'https://locanda.example', CORS_ORIGINS: [FRONT_END, 'http://localhost:5173'], REDIRECT_URLS: []
}

/** Spellings that seem to be the front end's, or that browsers and servers read in two ways. */
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

t.test('an address outside our front ends is replaced by the front end’s own', async (t) => {
  for (const trap of TRAPS) t.equal(allowedRedirect(CONFIG, trap), FRONT_END, trap)
  for (const nothing of [undefined, '']) t.equal(allowedRedirect(CONFIG, nothing), FRONT_END)
  t.equal(allowedRedirect({ ...CONFIG, CORS_ORIGINS: [] }, TRAPS[0]), CONFIG.PUBLIC_URL)

  const { base, browser, provider } = await setting(t, SIGNUP)
  provider.person = { sub: 'anna-1', email: 'anna@example.org', email_verified: true }
  // All of the way for some of them.
  for (const trap of TRAPS.slice(0, 24).filter((_trap, n) => n % 4 === 0)) {
    const { url } = await browser().go(
      `${base}/auth/v1/authorize?provider=google&redirect_to=${encodeURIComponent(trap)}`
    )
    t.equal(url.origin + url.pathname, `${FRONT_END}/`, trap)
    t.ok(url.hash.includes('access_token='), 'with the session')
  }
})

t.test('an address of a front end is kept as it was asked for', (t) => {
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

t.test('with a path of its own the service is under that path alone', (t) => {
  const config = { PUBLIC_URL: 'https://host.example/locanda', CORS_ORIGINS: [FRONT_END], REDIRECT_URLS: [] }
  for (const inside of ['/locanda', '/locanda/', '/locanda/ad/?x=1']) {
    t.equal(allowedRedirect(config, `https://host.example${inside}`), `https://host.example${inside}`)
  }
  for (const outside of ['/', '/altro', '/locanda2', '/locanda/auth/v1/authorize', '/locanda/%2e%2e%2faltro']) {
    t.equal(allowedRedirect(config, `https://host.example${outside}`), FRONT_END, outside)
  }
  const shared = { ...config, CORS_ORIGINS: [FRONT_END, 'https://host.example'] }
  t.equal(allowedRedirect(shared, 'https://host.example/altro'), 'https://host.example/altro', 'the front end is there')
  t.equal(allowedRedirect(shared, 'https://host.example/locanda/auth/v1/authorize'), FRONT_END)
  t.end()
})

t.test('an address of the list is kept, and no other is taken for one', (t) => {
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

t.test('no spelling leads to an origin or a path that is not ours', (t) => {
  const origins = [...CONFIG.CORS_ORIGINS, CONFIG.PUBLIC_URL]
  const part = fc.constantFrom(
    'https:', 'http:', 'javascript:', 'blob:', '//', '/', '\\', '@', '#', '?', ':', '.', '%2f', '%40', '\t', '\n',
    ' ', 'app.example', 'evil.example', 'locanda.example', '\u3002', '\uff0f', 'auth', 'v1', '%61uth', '..', '%2e',
    '%5c', '%25', '2f', '5C', '61', ';'
  )
  /** Every text that this one may be read as by whoever decodes it once, or more often. */
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
    // Read anew, as a browser reads the header.
    const { origin, pathname } = new URL(led)
    return origins.includes(origin) && /^https?:\/\/[^@\\\s/]*(\/[^\\\s]*)?$/.test(led.split(/[?#]/)[0]!) &&
      readings(pathname).every((path) => {
        // As a browser, or a server that normalizes paths, reads it once more.
        const again = new URL(`https://x.example${path}`)
        return again.host === 'x.example' && !path.includes('//') && !path.includes('\\') &&
          again.pathname.split('/').length === path.split('/').length &&
          (origin !== CONFIG.PUBLIC_URL || !/^\/auth\/v1(\/|$)/i.test(again.pathname))
      })
  }), { numRuns: 3000 })
  t.end()
})
