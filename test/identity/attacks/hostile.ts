import fc, { type Arbitrary } from 'fast-check'
import { anyCharacter } from '#test/any-character.ts'
import type { Schema } from '#test/schema-walk.ts'

const HALF = '\ud83d'

/** Text that something between a request and the database may stumble over. */
export const hostileText: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\0',
    'a\0b',
    HALF,
    `a${HALF}b`,
    'null',
    'true',
    '__proto__',
    'constructor',
    'toString',
    '\\u0000',
    '%00',
    '%',
    '%s%n',
    "' or 1=1 --",
    '{{7*7}}',
    '<script>',
    '\u202e\ufeff',
    'anna@example.org',
    'ANNA@EXAMPLE.ORG',
    'e\u0301@example.org',
    'a@b',
    '@',
    '1e400',
    '-0',
    '2147483648',
    '9'.repeat(40),
    '00000000-0000-4000-8000-000000000000',
    '../../etc/passwd',
    '\r\nSet-Cookie: a=b',
    'x'.repeat(250),
    'x'.repeat(5000),
    'è'.repeat(300),
    'global',
    'recovery',
    'signup',
    'email',
    'email_change',
    'password',
    'refresh_token',
    'pkce',
    's256'
  ),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 20 })
)

const hostileKey = fc.oneof(
  hostileText,
  fc.constantFrom('toJSON', 'valueOf', 'hasOwnProperty', 'length', 'then', 'role', 'roles', 'is_admin')
)

/** Values of any kind, nested. */
export const hostileValue: Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 },
    hostileText, fc.constantFrom<unknown>(null, true, false, 0, -0, 1e308, -1, 1.5, 2 ** 53), fc.integer(),
    fc.array(tie('value'), { maxLength: 4 }), fc.dictionary(hostileKey, tie('value'), { maxKeys: 4 })
  )
})).value

/** What gets past the first look, by the name of the field. */
const PLAUSIBLE: Readonly<Record<string, Arbitrary<unknown>>> = {
  email: fc.oneof(
    fc.constantFrom('anna@example.org', 'Anna@Example.org ', 'nuova@example.org', 'e\u0301@example.org'),
    fc.stringMatching(/^[a-z]{1,6}@example\.org$/)
  ),
  password: fc.oneof(
    fc.constant('una-frase-lunga-e-mia'),
    fc.string({ unit: 'grapheme', minLength: 8, maxLength: 30 })
  ),
  type: fc.constantFrom(
    'signup',
    'recovery',
    'magiclink',
    'invite',
    'email',
    'email_change',
    'email_change_current',
    'email_change_new'
  ),
  token: fc.stringMatching(/^\d{6}$/),
  ban_duration: fc.constantFrom('none', '1h', '1h30m', '0s', '999999999h'),
  code_challenge_method: fc.constantFrom('s256', 'plain', 'S256'),
  code_challenge: fc.constant('a'.repeat(43)),
  password_hash: fc.constantFrom(
    `$2a$10$${'a'.repeat(53)}`,
    '$argon2id$v=19$m=99999999,t=99,p=1$YWFhYWFhYWE$YWFhYWFhYWFhYWFhYWFhYQ'
  ),
  phone: fc.constant('')
}

/** A value as a schema has it, more or less. */
export function likely (schema: Schema, name = ''): Arbitrary<unknown> {
  const { type, enum: values, properties } = schema
  return fc.oneof({ weight: 15, arbitrary: fitting() }, { weight: 1, arbitrary: hostileValue })

  function fitting (): Arbitrary<unknown> {
    const plausible = PLAUSIBLE[name.replace(/^(new|current)_/, '')]
    if (values) return fc.constantFrom(...values)
    if (properties && Object.keys(properties).length > 0) {
      const fields = Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, likely(each, name)]))
      return fc.record(fields, {
        requiredKeys: Object.keys(properties).filter((name) => name === 'email' || name === 'type')
      })
    }
    if (type === 'boolean') return fc.boolean()
    if (type === 'object') return fc.dictionary(hostileKey, hostileValue, { maxKeys: 5 })
    return plausible
      ? fc.oneof({ weight: 5, arbitrary: plausible }, { weight: 1, arbitrary: hostileText })
      : hostileText
  }
}

/** A body for a schema as it goes over the wire: valid, nearly so, or none at all. */
export function likelyBody (schema: Schema | undefined): Arbitrary<string | undefined> {
  const made = fc
    .tuple(schema ? likely(schema) : hostileValue, fc.dictionary(hostileKey, hostileValue, { maxKeys: 2 }))
    .map(([body, more]) =>
      JSON.stringify(typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body, ...more } : body)
    )
  return fc.oneof(
    { weight: 9, arbitrary: made },
    {
      weight: 1,
      arbitrary: fc.constantFrom<string | undefined>(
        undefined,
        '',
        'null',
        '[]',
        '"x"',
        '0',
        '{',
        '{"a":1,}',
        '{"__proto__":{}}',
        '{"email":"\\ud800"}',
        '{"email":"a","email":7}',
        '\ufeff{}',
        '['.repeat(20_000),
        `{"data":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`
      )
    }
  )
}

/** A query for a schema. */
export function likelyQuery (schema: Schema | undefined): Arbitrary<string> {
  const names = Object.keys(schema?.properties ?? {})
  const value = fc.oneof(
    hostileText.map((text) => encodeURIComponent(text.toWellFormed())),
    fc.constantFrom('%', '%ff', '%00', '+', '&', '=', '%e0%a4%a')
  )
  const grant = fc.constantFrom('grant_type=password', 'grant_type=refresh_token', 'grant_type=pkce')
  const any = fc
    .tuple(fc.constantFrom(...names, 'api_key', 'altro', '__proto__', 'a[b]'), value)
    .map(([name, text]) => `${name}=${text}`)
  const pair = names.includes('grant_type')
    ? fc.oneof({ weight: 3, arbitrary: grant }, { weight: 1, arbitrary: any })
    : any
  return fc.array(pair, { maxLength: 4 }).map((pairs) => pairs.length === 0 ? '' : `?${pairs.join('&')}`)
}
