import fc from 'fast-check'
import t from 'tap'
import { createKeys } from '#src/lib/secrets.ts'
import { createLinks } from '#src/storage/links.ts'

const keys = createKeys(Buffer.alloc(32, 7))
const links = createLinks(keys)
const FILE = { bucket: 'documents', name: '12/0/front.jpg', id: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f' }
const NOW = Date.parse('2026-11-21T09:30:00Z')

t.test('a link is good for its file until the second in which it ends', async (t) => {
  const { token, expiresAt } = links.signDownload(FILE, 60, NOW)
  t.equal(expiresAt.toISOString(), '2026-11-21T09:31:00.000Z')
  t.match(links.readDownload(token, FILE, NOW), { object: FILE.id })
  t.match(links.readDownload(token, FILE, NOW + 59_999), { object: FILE.id })
  t.equal(links.readDownload(token, FILE, NOW + 60_000), 'expired')
})

t.test('a link opens no other file, no other bucket, and does not upload', async (t) => {
  const { token } = links.signDownload(FILE, 60, NOW)
  t.equal(links.readDownload(token, { ...FILE, name: '12/0/back.jpg' }, NOW), 'other')
  t.equal(links.readDownload(token, { ...FILE, bucket: 'letters' }, NOW), 'other')
  t.equal(links.readUpload(token, FILE, NOW), 'other')
  const upload = links.signUpload(FILE, { owner: 'user:1', upsert: true }, 60, NOW).token
  t.equal(links.readDownload(upload, FILE, NOW), 'other')
  t.match(links.readUpload(upload, FILE, NOW), { owner: 'user:1', upsert: true })
})

t.test('a link of which any character was changed, or signed by another installation, is no link', async (t) => {
  const { token } = links.signDownload(FILE, 60, NOW)
  const foreign = createLinks(createKeys(Buffer.alloc(32, 8))).signDownload(FILE, 60, NOW).token
  t.equal(links.readDownload(foreign, FILE, NOW), 'invalid')
  fc.assert(fc.property(fc.nat(token.length - 1), fc.stringMatching(/^[\w.-]$/), (at, other) => {
    const changed = token.slice(0, at) + other + token.slice(at + 1)
    if (changed === token) return true
    const read = links.readDownload(changed, FILE, NOW)
    // The last character of a signature has two bits that mean nothing.
    return read === 'invalid' || (at === token.length - 1 && typeof read === 'object')
  }))
  fc.assert(fc.property(fc.string(), (text) => links.readDownload(text, FILE, NOW) === 'invalid'))
  const [, claims = ''] = token.split('.')
  const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
  t.equal(links.readDownload(`${none}.${claims}.`, FILE, NOW), 'invalid')
})
