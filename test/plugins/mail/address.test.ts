import fc from 'fast-check'
import t from 'tap'
import { isOneLine, mailbox, plainAddress } from '#src/plugins/mail/address.ts'
import { anyCharacter } from '#test/any-character.ts'

const LONGEST = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(58)}.it`

t.test('a plain address is taken as it is, its domain in lower case and in ASCII', async (t) => {
  const taken = {
    'ada@ospiti.example': 'ada@ospiti.example',
    'Ada.Prova+nota@OSPITI.Example': 'Ada.Prova+nota@ospiti.example',
    "o'neill_1-2@a-b.sub.example": "o'neill_1-2@a-b.sub.example",
    '{a}=b&c#d$e*f?g^h`i~j@x1.example': '{a}=b&c#d$e*f?g^h`i~j@x1.example',
    'ada@città.example': 'ada@xn--citt-3na.example',
    'ada@xn--citt-3na.example': 'ada@xn--citt-3na.example',
    [LONGEST]: LONGEST
  }
  for (const [text, address] of Object.entries(taken)) t.equal(plainAddress(text), address, text)
  t.equal(LONGEST.length, 254)
})

t.test('what only looks like an address, or is more than one, is not taken', async (t) => {
  const refused = [
    '',
    '@',
    'ada',
    'ada@',
    '@ospiti.example',
    'ada@ospiti',
    'ada@localhost',
    'ada@127.0.0.1',
    'ada@[127.0.0.1]',
    'ada@[IPv6:::1]',
    'ada@1.2',
    'ada@ospiti.example,bruno@ospiti.example',
    'ada@ospiti.example;bruno@ospiti.example',
    'ada@ospiti.example bruno@ospiti.example',
    'ada@buono.example(x)cattivo.example',
    'ada(x)@ospiti.example',
    '(x)ada@ospiti.example',
    '"ada"@ospiti.example',
    '"ada@cattivo.example"@ospiti.example',
    'Ada <ada@ospiti.example>',
    '<ada@ospiti.example>',
    'gruppo:ada@ospiti.example;',
    'ada@cattivo.example@ospiti.example',
    '@relay.example:ada@ospiti.example',
    'ada%cattivo.example@ospiti.example',
    'cattivo.example!ada@ospiti.example',
    'ada%0abcc@ospiti.example',
    '|comando@ospiti.example',
    '=?utf-8?q?x=40altrove.example=3e=20?=@ospiti.example',
    '/etc/x@ospiti.example',
    'ada..prova@ospiti.example',
    '.ada@ospiti.example',
    'ada.@ospiti.example',
    'ada@.example',
    'ada@ospiti..example',
    'ada@ospiti.example.',
    'ada@-ospiti.example',
    'ada@ospiti-.example',
    'ada@ospiti_1.example',
    'città@ospiti.example',
    'ada@ospiti.example\\',
    'ada\\@ospiti.example',
    'ada@exam\u00adple.example',
    'ada@ospiti\u200b.example',
    'ada@ospiti．example',
    ' ada@ospiti.example',
    'ada@ospiti.example ',
    `${'a'.repeat(65)}@ospiti.example`,
    `ada@${'a'.repeat(64)}.example`,
    LONGEST.replace('.it', 'x.it'),
    `${'a'.repeat(64)}@${'b.'.repeat(95)}it`,
    `ada@${'città.'.repeat(30)}example`
  ]
  const ends = ['\r', '\n', '\r\n', '\0', '\t', '\v', '\u0085', '\u2028', '\u2029', '\ufeff', '\ud800']
  for (const end of ends) {
    refused.push(
      `ada${end}@ospiti.example`,
      `ada@ospiti${end}.example`,
      `ada@ospiti.example${end}`,
      `${end}ada@ospiti.example`
    )
  }
  t.same(refused.filter((text) => plainAddress(text) !== undefined), [])
})

t.test(
  'whatever the text, an address that is taken is one in ASCII, at most 254 characters long, and taken again as it is',
  async (t) => {
    const pieces = fc.constantFrom(
      'ada',
      '.',
      '@',
      'ospiti',
      'example',
      'è',
      '(',
      ')',
      '"',
      '<',
      '>',
      ',',
      ';',
      ':',
      '%',
      '%0a',
      '\r\n',
      '\0',
      '\u2028',
      ' ',
      '-',
      'xn--'
    )
    const texts = fc.oneof(
      fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
      fc.emailAddress(),
      fc.string({ unit: anyCharacter })
    )
    let taken = 0
    fc.assert(
      fc.property(texts, (text) => {
        const address = plainAddress(text)
        if (address === undefined) return
        taken++
        t.match(address, /^[!-~]{1,64}@[a-z0-9.-]+$/)
        t.notMatch(address, /[\s(),:;<>[\]"\\%!|/]|@.*@/)
        t.ok(address.length <= 254)
        t.equal(plainAddress(address), address)
      }),
      { numRuns: 2000 }
    )
    t.ok(taken > 50, 'and some are taken')
  }
)

t.test('an address of any length is judged at once', async (t) => {
  for (const text of [
    'a'.repeat(1e6),
    `${'a.'.repeat(5e5)}@x.example`,
    `ada@${'a.'.repeat(5e5)}`,
    `ada@${'a'.repeat(5e5)}!`
  ]) { t.equal(plainAddress(text), undefined) }
})

t.test('a sender is an address with or without a name', async (t) => {
  t.same(mailbox('posta@locanda.example'), { name: '', address: 'posta@locanda.example' })
  t.same(mailbox('Locanda del Mare <posta@locanda.example>'), {
    name: 'Locanda del Mare',
    address: 'posta@locanda.example'
  })
  t.same(mailbox('"Locanda, Città" <posta@locanda.example>'), {
    name: 'Locanda, Città',
    address: 'posta@locanda.example'
  })
  t.same(mailbox('<posta@locanda.example>'), { name: '', address: 'posta@locanda.example' })
  const refused = [
    '',
    'Locanda',
    'Locanda <>',
    'A <a@x.example> B <b@x.example>',
    'Locanda\r\nBcc: x@x.example <a@x.example>',
    'A <a@x.example',
    'A a@x.example>',
    'A\\ <a@x.example>'
  ]
  t.same(refused.filter((text) => mailbox(text) !== undefined), [])
})

t.test('a line has no end of any kind in it', async (t) => {
  t.ok(isOneLine('Città, 30 € – è 日本 👋🏽'))
  t.same(
    ['\r', '\n', '\0', '\t', '\u007f', '\u0085', '\u2028', '\u2029', '\ud83d'].filter((end) => isOneLine(`a${end}b`)),
    []
  )
})
