import fc from 'fast-check'
import { SaxesParser } from 'saxes'
import t from 'tap'
import { composeMail, type MailKind } from '#src/identity/sign-in/mails.ts'
import { anyCharacter } from '#test/any-character.ts'
import { bareWorker } from '#test/plugins/mail/posting.ts'
import { startSmtp } from '#test/smtp.ts'

const LINK = 'https://locanda.example/auth/v1/verify?token=abc123&type=signup&redirect_to=https%3A%2F%2Fapp.example%2F'
const CODE = '042917'
const EMAIL = 'ada@ospiti.example'

/** Of each kind: what its subject and its first words say. */
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

t.test(
  'each mail says in Italian why it was sent, how long it is good, and what to do if it was not asked for',
  async (t) => {
    for (const kind of kinds) {
      const [subject, about] = KINDS[kind]
      const mail = composeMail(kind, { link: LINK, code: CODE, email: EMAIL })
      t.match(mail.subject, subject)
      t.match(mail.text, about)
      t.match(mail.text, /24 ore e una volta sola/)
      t.match(mail.text, /Se non hai chiesto tu/)
      t.ok(mail.text.includes(EMAIL))
      t.ok(mail.text.split('\n').includes(CODE), 'the code stands on a line of its own')
      t.equal(
        mail.text.split('\n').includes(LINK),
        kind !== 'reauthentication',
        'and so does the link, where there is one'
      )
      t.notMatch(mail.subject, CODE)
    }
    t.equal(new Set(kinds.map((kind) => composeMail(kind, { link: LINK, code: CODE }).subject)).size, kinds.length)
  }
)

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
  const hostile = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          '<b>',
          '</p>',
          '"',
          "'",
          '&',
          '&lt;',
          '<!--',
          '-->',
          '<script>',
          '" onclick="x',
          '\r\n',
          '\u2028',
          '\0',
          ' ',
          'Se non hai chiesto tu'
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

t.test('a mail arrives as it was composed', async (t) => {
  const smtp = await startSmtp(t)
  const { worker, enqueue } = await bareWorker(t, smtp)
  for (const kind of kinds) {
    const mail = composeMail(kind, { link: LINK, code: CODE, email: EMAIL })
    await enqueue({ to: EMAIL, ...mail })
    worker.deliver()
    const got = await smtp.next()
    t.equal(got.subject, mail.subject)
    t.equal(got.text.replaceAll('\r\n', '\n').trim(), mail.text.trim())
    t.equal(got.html.replaceAll('\r\n', '\n').trim(), mail.html.trim())
  }
})
