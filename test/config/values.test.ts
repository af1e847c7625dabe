import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { readConfig } from '#src/config/config.ts'
import { parseProviders } from '#src/config/oauth-providers.ts'
import { isSafeAddress } from '#src/lib/addresses.ts'
import { temporaryFolder } from '#test/helper.ts'

const environ = { BACKUP_PASSPHRASE: 'otto barche sul lago', MASTER_KEY: Buffer.alloc(32, 1).toString('base64') }

const GOOGLE = {
  name: 'google',
  client_id: 'id',
  client_secret: 'segreto-che-non-si-dice',
  issuer: 'https://accounts.google.com'
}
const GITHUB = { name: 'github', client_id: 'id', client_secret: 'segreto-che-non-si-dice' }

t.test('backups among the files of the database or of the documents stop the start, wherever links lead', async (t) => {
  const folder = temporaryFolder(t)
  const DATA_DIR = join(folder, 'dati')
  const elsewhere = join(folder, 'disco')
  for (const made of [join(DATA_DIR, 'files', '4a'), join(elsewhere, 'base', 'copie')]) {
    mkdirSync(made, { recursive: true })
  }
  symlinkSync(join(elsewhere, 'base'), join(DATA_DIR, 'postgres'))
  symlinkSync(join(DATA_DIR, 'files'), join(folder, 'legame'))
  symlinkSync(DATA_DIR, join(folder, 'stessi-dati'))
  symlinkSync('dati/files/domani', join(folder, 'verso-domani'))
  symlinkSync('verso-domani', join(folder, 'oltre'))
  symlinkSync('cerchio', join(folder, 'cerchio'))
  const wrong: [name: string, place: string][] = [
    ['files', join(DATA_DIR, 'files')],
    ['files', join(DATA_DIR, 'files/')],
    ['files', join(DATA_DIR, 'files', '4a')],
    ['files', join(DATA_DIR, 'files', 'non', 'ancora')],
    ['files', `${DATA_DIR}/altro/../files`],
    ['files', relative('', join(DATA_DIR, 'files'))],
    ['files', join(folder, 'legame')],
    ['files', join(folder, 'legame', 'non', 'ancora')],
    ['files', join(folder, 'stessi-dati', 'files')],
    ['files', join(folder, 'verso-domani')],
    ['files', join(folder, 'oltre', 'copie')],
    ['postgres', join(DATA_DIR, 'postgres')],
    ['postgres', join(DATA_DIR, 'postgres', 'copie')],
    ['postgres', join(elsewhere, 'base')],
    ['postgres', join(elsewhere, 'base', 'copie')]
  ]
  for (const [name, BACKUP_DIR] of wrong) {
    t.throws(() => readConfig({ ...environ, DATA_DIR, BACKUP_DIR }), {
      name: 'ConfigError', message: new RegExp(`^BACKUP_DIR: non può essere la cartella ${name} di DATA_DIR, [^\\n]+$`)
    }, BACKUP_DIR)
  }
  for (const place of ['', 'dati', 'dati/salvataggi', 'dati/files-altri', 'dati/postgres.bak', 'disco', 'cerchio']) {
    const BACKUP_DIR = join(folder, place)
    t.match(readConfig({ ...environ, DATA_DIR, BACKUP_DIR }), { BACKUP_DIR })
  }
})

t.test('backups in such a folder stop the start before there are data, and no folder is made', async (t) => {
  const folder = temporaryFolder(t)
  const DATA_DIR = join(folder, 'dati')
  for (const name of ['postgres', 'files']) {
    const BACKUP_DIR = join(DATA_DIR, name, 'salvataggi')
    t.throws(() => readConfig({ ...environ, MASTER_KEY: '', DATA_DIR, BACKUP_DIR }), { message: /^BACKUP_DIR: / })
  }
  t.same(readdirSync(folder), [])
})

t.test('a list of providers is taken as it stands', (t) => {
  t.strictSame(parseProviders(undefined), [])
  t.strictSame(parseProviders('[]'), [])
  const apple = {
    ...GOOGLE,
    name: 'apple',
    response_mode: 'form_post',
    token_endpoint_auth_method: 'client_secret_post',
    scopes: 'name email'
  }
  const enterprise = {
    ...GITHUB,
    authorization_endpoint: 'https://ghe.example/a',
    token_endpoint: 'https://ghe.example/t',
    userinfo_endpoint: 'http://127.1.2.3/u'
  }
  t.strictSame(parseProviders(JSON.stringify([GOOGLE, apple, enterprise])), [GOOGLE, apple, enterprise])
  t.end()
})

t.test('a fault in the list is named, without the secrets', (t) => {
  const cases: [wrong: unknown, problem: RegExp][] = [
    ['{', /^non è JSON$/],
    [{}, /^deve essere un elenco JSON$/],
    [[7], /^\[0\] deve essere un oggetto$/],
    [[null], /^\[0\] deve essere un oggetto$/],
    [[[]], /^\[0\] deve essere un oggetto$/],
    [[{}], /^\[0\]\.name manca$/],
    [[{ ...GOOGLE, segreto: 'x' }], /^\[0\] ha un campo sconosciuto: segreto$/],
    [
      JSON.stringify([GOOGLE]).replace('"name"', '"__proto__":"x","name"'),
      /^\[0\] ha un campo sconosciuto: __proto__$/
    ],
    [[{ ...GOOGLE, client_id: 7 }], /^\[0\]\.client_id deve essere un testo$/],
    [[{ ...GOOGLE, client_id: '' }], /^\[0\]\.client_id deve essere un testo$/],
    [[{ ...GOOGLE, client_id: undefined }], /^\[0\]\.client_id manca$/],
    [[{ ...GOOGLE, client_secret: undefined }], /^\[0\]\.client_secret manca$/],
    [[GITHUB, { ...GOOGLE, issuer: undefined }], /^\[1\]\.issuer manca$/],
    ...['email', 'phone', 'Google', 'a b', '1a', 'x'.repeat(41)].map((name): [unknown, RegExp] => [
      [{ ...GOOGLE, name }],
      /^\[0\]\.name non è ammesso$/
    ]),
    [[GOOGLE, GOOGLE], /^due provider hanno lo stesso name$/],
    [[{ ...GITHUB, issuer: 'https://github.com' }], /^\[0\]\.issuer non vale per github$/],
    [[{ ...GOOGLE, token_endpoint: 'https://x.example' }], /^\[0\]\.token_endpoint non vale per un provider OpenID Connect$/],
    [[{ ...GOOGLE, issuer: 'http://accounts.example' }], /^\[0\]\.issuer deve essere https, o http su loopback$/],
    [[{ ...GITHUB, userinfo_endpoint: 'https://a:b@x.example' }], /^\[0\]\.userinfo_endpoint deve essere https/],
    [[{ ...GOOGLE, response_mode: 'fragment' }], /^\[0\]\.response_mode può essere query o form_post$/],
    [
      [{ ...GOOGLE, token_endpoint_auth_method: 'none' }],
      /^\[0\]\.token_endpoint_auth_method può essere client_secret_basic o client_secret_post$/
    ]
  ]
  for (const [wrong, problem] of cases) {
    t.throws(() => parseProviders(typeof wrong === 'string' ? wrong : JSON.stringify(wrong)), { message: problem })
  }
  fc.assert(fc.property(fc.json(), (json) => {
    try {
      parseProviders(json)
    } catch (err) {
      return err instanceof Error && err.constructor === Error
    }
    return true
  }))
  t.end()
})

t.test('a server is asked over https, or in plain on this machine', (t) => {
  for (const address of [
    'https://x.example', 'https://127.0.0.1', 'http://127.0.0.1:80/', 'http://localhost/x', 'http://[::1]:3000/',
    'http://127.9.9.9', 'http://0x7f000001/'
  ]) {
    t.ok(isSafeAddress(address), address)
  }
  for (const address of [
    '', 'x', '//x', 'http://x.example', 'http://10.0.0.1', 'http://127.0.0.1.evil.example',
    'http://localhost.evil.example', 'ftp://127.0.0.1', 'https://a@x.example', 'https://:b@x.example',
    'file:///etc/passwd', 'http://[::ffff:127.0.0.1]/'
  ]) {
    t.notOk(isSafeAddress(address), address)
  }
  t.end()
})
