import { generateKeyPairSync, randomBytes, randomUUID, createPublicKey } from 'node:crypto'
import { createKeys } from '#src/lib/secrets.ts'
import { API_KEY } from '#test/helper.ts'
import { compactText, ecdsa, hmac, rsa, type Signer, type Workshop } from './forge.ts'

const now = Math.floor(Date.now() / 1000)
const publicKeyEncoding = { type: 'spki', format: 'pem' } as const
const privateKeyEncoding = { type: 'pkcs8', format: 'pem' } as const
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256', publicKeyEncoding, privateKeyEncoding })
const otherCurve = generateKeyPairSync('ec', { namedCurve: 'P-384', publicKeyEncoding, privateKeyEncoding })
const rsaPair = generateKeyPairSync('rsa', { modulusLength: 2048, publicKeyEncoding, privateKeyEncoding })
const nothing: Signer = () => ''

/** Forged tokens, all of which must be refused. RFC 8725 names most of these attacks. */
export function forgedTokens (shop: Workshop, master: Buffer): Record<string, string> {
  const { person, machine, kid, publicPem, privatePem, secret, own, othersClaims, victim, other, issuer } = shop
  const [header = '', payload = '', signature = ''] = victim.access_token.split('.')
  const strangersJwk = createPublicKey(stranger.publicKey).export({ format: 'jwk' })
  const bearerTokenOf = (claims: object, signer = ecdsa(privatePem)) =>
    compactText(JSON.stringify({ alg: 'ES256', typ: 'JWT', kid }), JSON.stringify(claims), signer)
  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const changed = (index: number) =>
    signature.slice(0, index) + (signature[index] === 'A' ? 'B' : 'A') + signature.slice(index + 1)

  return {
    // The algorithm.
    'alg none': person({ header: { alg: 'none' } }, nothing),
    'alg None': person({ header: { alg: 'None' } }, nothing),
    'alg NONE': person({ header: { alg: 'NONE' } }, nothing),
    'alg nOnE with a signature': person({ header: { alg: 'nOnE' } }),
    'alg none, for a machine': machine({ header: { alg: 'none' } }, nothing),
    'no alg': person({ header: { alg: undefined } }),
    'alg null': person({ header: { alg: null } }),
    'alg a list': person({ header: { alg: ['ES256'] } }),
    'alg an object': person({ header: { alg: { toString: 'ES256' } } }),
    'alg es256': person({ header: { alg: 'es256' } }),
    'alg ES256 with a blank': person({ header: { alg: 'ES256 ' } }),
    'alg ES384 with this key': person({ header: { alg: 'ES384' } }, ecdsa(privatePem, 'sha384')),
    'alg ES256K': person({ header: { alg: 'ES256K' } }),
    'alg EdDSA': person({ header: { alg: 'EdDSA' } }),
    "alg HS512 with the machines' secret": machine({ header: { alg: 'HS512' } }, hmac(secret, 'sha512')),
    "alg HS384 with the machines' secret": machine({ header: { alg: 'HS384' } }, hmac(secret, 'sha384')),
    'HS256 with the public key as secret': person({ header: { alg: 'HS256' } }, hmac(publicPem)),
    'HS256 with the public key after a blank': person({ header: { alg: 'HS256' } }, hmac(` ${publicPem}`)),
    'HS256 with the public key, for a machine': machine({}, hmac(publicPem)),
    'HS256 with the published x': machine(
      {},
      hmac(Buffer.from(String(createPublicKey(publicPem).export({ format: 'jwk' }).x), 'base64url'))
    ),
    'RS256 with a key of its own': person({ header: { alg: 'RS256' } }, rsa(rsaPair.privateKey)),
    'ES256 with an RSA signature': person({}, rsa(rsaPair.privateKey)),

    // The key.
    "a stranger's key": person({}, ecdsa(stranger.privateKey)),
    "a stranger's key without kid": person({ header: { kid: undefined } }, ecdsa(stranger.privateKey)),
    'the right key without kid': person({ header: { kid: undefined } }),
    'an unknown kid': person({ header: { kid: randomUUID() } }),
    'a kid that is a path': person({ header: { kid: '../../../../dev/null' } }, hmac(Buffer.alloc(0))),
    'a kid that is SQL': person({ header: { kid: "' or '1'='1" } }, ecdsa(stranger.privateKey)),
    'a kid that is a list': person({ header: { kid: [kid] } }),
    'a kid that is __proto__': person({ header: { kid: '__proto__' } }, hmac(Buffer.alloc(0))),
    'a key of another curve': person({}, ecdsa(otherCurve.privateKey)),
    'its own key in the header': person({ header: { jwk: strangersJwk } }, ecdsa(stranger.privateKey)),
    'its own key in the header, without kid': person(
      { header: { jwk: strangersJwk, kid: undefined } },
      ecdsa(stranger.privateKey)
    ),
    'its own key set by address': person({ header: { jku: 'http://127.0.0.1:1/keys' } }, ecdsa(stranger.privateKey)),
    'its own certificate by address': person(
      { header: { x5u: 'http://127.0.0.1:1/cert' } },
      ecdsa(stranger.privateKey)
    ),
    'its own certificate': person({ header: { x5c: [stranger.publicKey] } }, ecdsa(stranger.privateKey)),
    'an empty secret': machine({}, hmac(Buffer.alloc(0))),
    'the API key as secret': machine({}, hmac(Buffer.from(API_KEY))),
    'the master key as secret': machine({}, hmac(master)),
    'the sealing key as secret': machine({}, hmac(createKeys(master).derive('seal'))),
    'the refresh secret as secret': machine({}, hmac(createKeys(master).derive('refresh-token'))),
    "another installation's secret": machine({}, hmac(randomBytes(32))),

    // The signature.
    'no signature': `${header}.${payload}.`,
    'the first character of the signature changed': `${header}.${payload}.${changed(0)}`,
    'the middle of the signature changed': `${header}.${payload}.${changed(40)}`,
    'half a signature': `${header}.${payload}.${signature.slice(0, 43)}`,
    'a signature of zeros': `${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
    'a DER signature': person({}, ecdsa(privatePem, 'sha256', 'der')),
    "somebody else's signature": `${header}.${payload}.${other.access_token.split('.')[2]}`,
    'a payload changed after signing': `${header}.${encoded({ ...own, sub: othersClaims.sub })}.${signature}`,
    'a header changed after signing': `${encoded({ alg: 'ES256', kid })}.${payload}.${signature}`,
    'a critical extension': person({ header: { crit: ['b64'], b64: false } }),
    'an unknown critical extension': person({ header: { crit: ['exp2'], exp2: 1 } }),
    'an empty list of critical extensions': person({ header: { crit: [] } }),

    // Time.
    expired: person({ claims: { iat: now - 7200, exp: now - 1 } }),
    'expiring now': person({ claims: { exp: now } }),
    'without expiry': person({ claims: { exp: undefined } }),
    'expiry in words': person({ claims: { exp: 'domani' } }),
    'expiry as text': person({ claims: { exp: String(now + 3600) } }),
    'expiry null': person({ claims: { exp: null } }),
    'issued too long ago': person({ claims: { iat: now - 25 * 3600, exp: now + 3600 } }),
    'without time of issue': person({ claims: { iat: undefined } }),
    'time of issue as text': person({ claims: { iat: String(now) } }),
    'not valid yet': person({ claims: { nbf: now + 3600 } }),
    'an expired machine': machine({ claims: { exp: now - 1 } }),
    'a machine without expiry': machine({ claims: { exp: undefined } }),

    // The audience and the issuer.
    'for somebody else': person({ claims: { aud: 'anon' } }),
    'for nobody': person({ claims: { aud: undefined } }),
    'for an object': person({ claims: { aud: { authenticated: true } } }),
    'of another issuer': person({ claims: { iss: 'https://altrove.example/auth/v1' } }),
    'of an issuer that begins alike': person({ claims: { iss: `${issuer}.altrove.example` } }),
    'of no issuer': person({ claims: { iss: undefined } }),
    'a machine of another issuer': machine({ claims: { iss: 'https://altrove.example/auth/v1' } }),

    // The subject and the role.
    'without role': person({ claims: { role: undefined } }),
    'the public role': person({ claims: { role: 'anon' } }),
    'a person with the service role': person({ claims: { role: 'service_role' } }),
    'a list of roles': person({ claims: { role: ['authenticated'] } }),
    'a role in capitals': machine({ claims: { role: 'SERVICE_ROLE' } }),
    'a machine that is called admin': machine({ claims: { role: 'admin' } }),
    'a machine that is a person': machine({ claims: { sub: own.sub } }),
    'a machine that is anonymous': machine({ claims: { role: 'anon' } }),
    'without subject': person({ claims: { sub: undefined } }),
    'an empty subject': person({ claims: { sub: '' } }),
    'a subject that is not text': person({ claims: { sub: { toString: own.sub } } }),
    "another person's subject with this session": person({ claims: { sub: othersClaims.sub } }),
    "this person's subject with another's session": person({ claims: { session_id: othersClaims.session_id } }),
    'without session': person({ claims: { session_id: undefined } }),
    'a session that never was': person({ claims: { session_id: randomUUID() } }),
    'a session that is SQL': person({ claims: { session_id: `${String(own.session_id)}' or '1'='1` } }),
    'a person that never was': person({ claims: { sub: randomUUID() } }),

    // Form.
    'two parts': `${header}.${payload}`,
    'four parts': `${victim.access_token}.x`,
    'five parts, as if encrypted': `${victim.access_token}.x.y`,
    'a token inside a token': compactText(
      JSON.stringify({ alg: 'ES256', cty: 'JWT', kid }),
      victim.access_token,
      ecdsa(privatePem)
    ),
    'a payload that is no object': compactText(JSON.stringify({ alg: 'ES256', kid }), '"ciao"', ecdsa(privatePem)),
    'a payload that is null': compactText(JSON.stringify({ alg: 'ES256', kid }), 'null', ecdsa(privatePem)),
    'a payload that is no JSON': compactText(JSON.stringify({ alg: 'ES256', kid }), '{', ecdsa(privatePem)),
    'a header that is no JSON': compactText('{', JSON.stringify(own), ecdsa(privatePem)),
    'claims twice, the bad ones last': compactText(
      JSON.stringify({ alg: 'ES256', kid }),
      JSON.stringify(own).replace(/}$/, ',"exp":1}'),
      ecdsa(privatePem)
    ),
    'padded base64': victim.access_token.split('.').map((part) => `${part}==`).join('.'),
    'only claims of rights': bearerTokenOf({ role: 'authenticated', app_metadata: { role: 'admin' } }),
    garbage: 'ciao',
    'garbage in three parts': 'a.b.c',
    'only dots': '..',
    'one megabyte': `${'A'.repeat(1_000_000)}.${'B'.repeat(10)}.C`,
    'one megabyte, signed': person({ claims: { user_metadata: { x: 'x'.repeat(1_000_000) } } })
  }
}
