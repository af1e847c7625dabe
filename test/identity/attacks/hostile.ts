import fc, { type Arbitrary } from 'fast-check'
import { anyCharacter } from '#test/any-character.ts'

const HALF = '\ud83d'

/** Text that may cause an error anywhere between a request and the database. */
export const hostileText: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '', ' ', '\0', 'a\0b', HALF, `a${HALF}b`, 'null', 'true', '__proto__', 'constructor', 'toString', '\\u0000', '%00',
    '%', '%s%n', "' or 1=1 --", '{{7*7}}', '<script>', '\u202e\ufeff', 'anna@example.org', 'ANNA@EXAMPLE.ORG',
    'e\u0301@example.org', 'a@b', '@', '1e400', '-0', '2147483648', '9'.repeat(40),
    '00000000-0000-4000-8000-000000000000', '../../etc/passwd', '\r\nSet-Cookie: a=b', 'x'.repeat(250),
    'x'.repeat(5000), 'è'.repeat(300), 'global', 'recovery', 'signup', 'email', 'email_change', 'password',
    'refresh_token', 'pkce', 's256'
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
