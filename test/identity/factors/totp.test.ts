import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { Secret } from 'otpauth'
import t from 'tap'
import { enrolmentOf, matchStep, newSecret } from '#src/identity/factors/totp.ts'
import { anyCharacter } from '#test/any-character.ts'
import { codeOf } from './authenticator.ts'

/** RFC 6238, appendix B, SHA-1: seconds, and the code of eight digits, of which apps show the last six. */
const VECTORS: [seconds: number, code: string][] = [
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_111_111_111, '14050471'],
  [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'],
  [20_000_000_000, '65353130']
]
const RFC_SECRET = Buffer.from('12345678901234567890')

t.test('the codes of RFC 6238 are taken, each in its own half minute', async (t) => {
  for (const [seconds, code] of VECTORS) {
    t.equal(matchStep(RFC_SECRET, code.slice(2), null, seconds * 1000), Math.floor(seconds / 30), `${seconds} s`)
  }
})

t.test('a code is taken half a minute before and after its own, and at no other time', async (t) => {
  const [seconds, code] = VECTORS[3]!
  const own = Math.floor(seconds / 30)
  for (const [steps, expected] of [[-2, undefined], [-1, own], [0, own], [1, own], [2, undefined]] as const) {
    t.equal(matchStep(RFC_SECRET, code.slice(2), null, (own + steps) * 30_000), expected, `${steps} steps off`)
  }
})

t.test('neither a code that was taken, nor one of an earlier half minute, is taken again', async (t) => {
  const [seconds, code] = VECTORS[3]!
  const own = Math.floor(seconds / 30)
  t.equal(matchStep(RFC_SECRET, code.slice(2), own - 1, seconds * 1000), own)
  t.equal(matchStep(RFC_SECRET, code.slice(2), own, seconds * 1000), undefined)
  t.equal(matchStep(RFC_SECRET, code.slice(2), own + 1, seconds * 1000), undefined)
})

t.test('blanks in a code do not count, and what is no code is no code', async (t) => {
  const secret = newSecret()
  const code = codeOf(Secret.fromHex(secret.toString('hex')).base32)
  t.not(matchStep(secret, ` ${code.slice(0, 3)} ${code.slice(3)}`, null, Date.now()), undefined)
  fc.assert(fc.property(fc.oneof(fc.string({ unit: anyCharacter }), fc.stringMatching(/^\d{0,5}$|^\d{7,12}$/)), (text) => {
    t.equal(matchStep(secret, text, null, Date.now()), undefined)
  }), { numRuns: 200 })
})

t.test('the picture can stand in a data address, and the address says all that an app needs', async (t) => {
  const secret = newSecret()
  const { secret: text, uri, qr_code: svg } = await enrolmentOf(secret, 'locanda.example', 'anna+1@example.org')
  t.match(svg, /^<svg [^]*<\/svg>$/)
  t.notMatch(svg, /[#%]/)
  const { protocol, host, pathname, searchParams } = new URL(uri)
  t.equal(`${protocol}//${host}${decodeURIComponent(pathname)}`, 'otpauth://totp/locanda.example:anna+1@example.org')
  t.same(Object.fromEntries(searchParams), {
    issuer: 'locanda.example', secret: text, algorithm: 'SHA1', digits: '6', period: '30'
  })
  t.same(Buffer.from(Secret.fromBase32(text).bytes), secret)
})

t.test('whatever an issuer and a person are called, there is a picture', async (t) => {
  const name = (maxLength: number) => fc.oneof(
    fc.string({ unit: anyCharacter, minLength: 1, maxLength }),
    fc.constantFrom('€'.repeat(maxLength), '\ud800'.repeat(maxLength), '😀'.repeat(maxLength / 2))
  )
  await fc.assert(fc.asyncProperty(name(64), name(254), async (issuer, label) => {
    t.match((await enrolmentOf(RFC_SECRET, issuer, label)).qr_code, /<\/svg>$/)
  }), { numRuns: 30 })
})

const skip = hasOathtool() ? false : 'no oathtool'
t.test('another program, oathtool, shows the same codes', { skip }, async (t) => {
  const secret = newSecret()
  const now = Date.now()
  const run = (base32: string) =>
    execFileSync('oathtool', ['--totp', '--base32', '--now', new Date(now).toISOString().replace(/\.\d+Z/, ' UTC')
      .replace('T', ' '), base32], { encoding: 'utf8' }).trim()
  const { secret: base32 } = await enrolmentOf(secret, 'locanda.example', 'anna@example.org')
  t.equal(matchStep(secret, run(base32), null, now), Math.floor(now / 30_000))
})

function hasOathtool (): boolean {
  try {
    execFileSync('oathtool', ['--version'])
    return true
  } catch {
    return false
  }
}
