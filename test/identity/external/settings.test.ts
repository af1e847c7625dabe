import { randomBytes } from 'node:crypto'
import t from 'tap'
import { readConfig } from '#src/config/config.ts'
import { externalSettings } from '#src/identity/external/settings.ts'
import { build } from '#test/helper.ts'

const MASTER_KEY = randomBytes(32).toString('base64')
const read = (environ: Record<string, string>) =>
  externalSettings(readConfig({ MASTER_KEY, IDP_ANON_KEY: 'anonima', ...environ }))

t.test('the provider’s address must be https or loopback', async (t) => {
  for (const url of [
    'https://idp.example',
    'http://127.0.0.1:9999',
    'http://localhost',
    'http://[::1]:8000',
    'https://idp.example/sotto'
  ]) {
    t.match(read({ IDP_URL: url }), { url, base: `${url}/auth/v1` })
    t.match(read({ IDP_URL: `${url}//` }), { url, base: `${url}/auth/v1` })
  }
  for (const url of [
    'http://idp.example',
    'http://10.0.0.1',
    'http://127.0.0.1.example',
    'https://utente:CANARY@idp.example',
    'https://idp.example?x=CANARY',
    'https://idp.example/#CANARY',
    'http://[::2]'
  ]) {
    t.throws(() => read({ IDP_URL: url }), { name: 'ConfigError', message: /^IDP_URL: [^C]+$/ }, url)
  }
})

t.test('a public or private key is refused as the shared secret', async (t) => {
  t.match(read({ IDP_URL: 'https://idp.example', IDP_JWT_SECRET: 'segreto' }), { jwtSecret: Buffer.from('segreto') })
  t.throws(() => read({ IDP_URL: 'https://idp.example', IDP_JWT_SECRET: '-----BEGIN PUBLIC KEY-----\nCANARY' }), {
    name: 'ConfigError',
    message: /^IDP_JWT_SECRET: [^C]+$/
  })
})

t.test('a bad address stops the start', async (t) => {
  await t.rejects(build(t, { IDP_URL: 'http://idp.example', IDP_ANON_KEY: 'anonima' }), {
    name: 'ConfigError',
    message: /^IDP_URL: /
  })
})
