import t from 'tap'
import { relyingParty } from '#src/identity/factors/webauthn/relying-party.ts'
import { readConfig } from '#src/config/config.ts'

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')
const party = (environ: Record<string, string>) =>
  relyingParty(readConfig({ MASTER_KEY, DATA_DIR: '/non/usata', ...environ }))

t.test('devices belong to the host of the public address, and pages there and below it may ask', async (t) => {
  t.match(party({ PUBLIC_URL: 'https://locanda.example' }), {
    id: 'locanda.example', origins: ['https://locanda.example']
  })
  t.same(
    party({
      PUBLIC_URL: 'https://api.locanda.example',
      CORS_ORIGINS: 'https://app.locanda.example,https://altrove.example,https://lalocanda.example',
      PASSKEY_DOMAIN: 'locanda.example'
    })?.origins,
    ['https://api.locanda.example', 'https://app.locanda.example']
  )
  t.match(party({ PUBLIC_URL: 'http://localhost:3000' }), { id: 'localhost' })
})

t.test('an IP address, in whichever spelling, has none', async (t) => {
  for (const PUBLIC_URL of ['http://127.0.0.1:3000', 'http://[::1]:3000', 'https://10.1']) {
    t.equal(party({ PUBLIC_URL }), undefined, PUBLIC_URL)
  }
})
