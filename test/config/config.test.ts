import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync
} from 'node:fs'
import { join, relative, resolve } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Environment } from '#schemas/config.ts'
import { ConfigError } from '#src/config/data-folder.ts'
import { configWarnings, readConfig } from '#src/config/config.ts'
import { parseProviders } from '#src/config/oauth-providers.ts'
import { temporaryFolder } from '#test/helper.ts'
import { COMPILE_CACHE, LOAD_FAST } from '#test/setup/processes.ts'

type Environ = Record<string, string>

const SERVER = fileURLToPath(new URL('../../src/server.ts', import.meta.url))

const MASTER_KEY = Buffer.alloc(32, 1).toString('base64')
const CREDENTIALS = { ALLOGGIATI_UTENTE: 'XX000000', ALLOGGIATI_PASSWORD: 'segreta', ALLOGGIATI_WSKEY: 'chiave' }
const URLS = ['vuoto', 'ftp://host/', '//host', 'http:/host', 'https://con spazio', 'javascript:alert(1)']
const DATABASES = 'mysql://host/db,host/db,postgres://,postgres://con spazio,postgres://u:a#b@host/db,' +
  'postgres://u:1#2@host/db,postgres://u:segreto@,postgres://u:segreto@host:99999/db'

/** Invalid values of every variable that has invalid values. Each prevents the start. */
const BAD: Readonly<Partial<Record<keyof Environment, readonly string[]>>> = {
  PORT: ['-1', '65536', '3000.5', 'tremila', '0x1f90x', 'null'],
  PUBLIC_URL: [...URLS, ...['?', '/#', '\\a', '/a?b', '#a'].map((end) => `https://a.example${end}`), 'https://@a.example'],
  HOST: ['256.1.1.1', 'con spazio', 'http://host', 'host/a', '::1/a', 'localhost:3000', '[::1]'],
  DATABASE_URL: DATABASES.split(','),
  REDIS_URL: [
    'http://host', 'host:6379', 'redis://', 'redis://host:99999', 'redis://utente:%zz@host', 'redis+sentinel://host/nome'
  ],
  S3_ENDPOINT: [...URLS, 'https://s3.example/percorso', 'https://utente:segreto@s3.example', 'https://s3.example?a=b'],
  S3_BUCKET: ['b', 'Maiuscole', 'con spazio', 'a/b', '-inizio', 'x'.repeat(64)],
  S3_REGION: ['eu west', 'eu/west', 'è'],
  MASTER_KEY: [
    'corta',
    Buffer.alloc(31).toString('base64'),
    Buffer.alloc(33).toString('base64'),
    Buffer.alloc(32).toString('hex'),
    `${MASTER_KEY} `,
    '€'.repeat(44)
  ],
  API_KEY: ['corta', 'x'.repeat(201)],
  ADMIN_EMAIL: ['nessuno', 'a@b c', '@'],
  ADMIN_PASSWORD: ['corta', 'x'.repeat(129)],
  SIGNUP_ENABLED: ['si', '1', 'TRUE', 'null'],
  PASSKEY_DOMAIN: ['https://locanda.example', 'Locanda.example', '.example'],
  REQUIRE_MFA: ['si', 'true', 'ALL'],
  REQUIRE_RECENT_MFA: ['si', '1', 'TRUE', 'null'],
  WEBHOOKS_TO_LOOPBACK: ['si', '1', 'TRUE', 'null'],
  OAUTH_PROVIDERS: ['google', '{}', '[{}]', '[{"name":"github","client_id":"a","client_secret":""}]'],
  IDP_URL: URLS,
  ALLOGGIATI_MODE: ['Production', 'test', 'true'],
  ALLOGGIATI_ENDPOINT: URLS,
  ALLOGGIATI_CA_FILE: ['/non/esiste.pem'],
  SMTP_URL: ['mail.example', 'http://mail.example'],
  PDF_ENGINE: ['APITemplate', 'weasyprint'],
  PDF_ENGINE_URL: URLS,
  OCR_PROVIDER: ['Google', 'tesseract'],
  OCR_PROVIDER_URL: URLS,
  BACKUP_PASSPHRASE: ['corta', 'x'.repeat(201)],
  QUERY_PASSWORD: ['corta'],
  TRUST_PROXY: [
    'true', '1', 'loopback', '10.0.0.0/33', '10.0.0.0/0', '::/0', '2001:db8::/129', '10.0.0.0/8/8', '10.0.0.256',
    '10.0.0.0/', '10.0.0.0/8, proxy.example', '10.0.0.1:80'
  ],
  CORS_ORIGINS: [
    '*', 'app.example', 'https://app.example/', 'https://app.example/pagina', 'https://*.example',
    'https://App.example', 'null', 'https://a.example,*', 'https://a.example https://b.example'
  ],
  REDIRECT_URLS: [
    'app.example', '/arrivo', 'javascript:alert(1)', 'data:text/html,x', 'https://a:b@app.example/',
    'https://app.example/?a=*', 'https://app.example/#a', 'https://*/', 'https://*.example/**',
    'https://**.app.example/', 'https://app.example/, javascript://x'
  ],
  RATE_LIMIT_MAX: ['0', '-1', 'molte', '1.5'],
  RATE_LIMIT_LOGIN_MAX: ['0', 'x'],
  RATE_LIMIT_HEAVY_MAX: ['0', 'x'],
  RATE_LIMIT_WINDOW: ['0', '86401', '1 minute'],
  ERASE_AFTER_DAYS: ['0', '3651', '1.5', 'mai'],
  IMAGE_RETENTION_DAYS: ['-1', '3651', '1.5', 'mai'],
  IMAGE_SIDE_MAX: ['1499', '6001', '3000px'],
  DISK_RESERVE_MIB: ['-1', '1000001', '0.5', '10%'],
  DRAIN_SECONDS: ['-1', '301', '1.5', 'sei'],
  OVERLOAD_AFTER_MS: ['99', '-1', 'un secondo', '2.5'],
  LOG_LEVEL: ['verbose', 'INFO'],
  TODAY: ['2026-02-30', '2026-13-01', '21/11/2026', '2026-11-21T00:00:00Z', 'oggi']
}

/** Variables that accept any text: names, secrets and passwords of external services. */
const FREE: readonly (keyof Environment)[] = [
  'BACKUP_DIR', 'DATA_DIR', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY', 'IDP_JWT_SECRET', 'IDP_ANON_KEY',
  'IDP_SERVICE_KEY', 'ALLOGGIATI_UTENTE', 'ALLOGGIATI_PASSWORD', 'ALLOGGIATI_WSKEY', 'MAIL_FROM', 'ALARM_EMAIL',
  'PDF_ENGINE_KEY', 'OCR_PROVIDER_KEY', 'HOSTING_DEPLOY'
]

/** Contradictory values, and the variable that the error names. */
const CONTRADICTIONS: readonly (readonly [variable: string, environ: Environ])[] = [
  ['PDF_ENGINE_URL', { PDF_ENGINE: 'gotenberg' }],
  ['PDF_ENGINE', { PDF_ENGINE_URL: 'https://pdf.example' }],
  ['PDF_ENGINE_KEY', { PDF_ENGINE_KEY: 'chiave' }],
  ['PDF_ENGINE_KEY', { PDF_ENGINE: 'apitemplate', PDF_ENGINE_URL: 'https://rest-de.apitemplate.io' }],
  ['PDF_ENGINE_URL', { PDF_ENGINE: 'gotenberg', PDF_ENGINE_URL: 'http://pdf.example' }],
  ['OCR_PROVIDER_KEY', { OCR_PROVIDER: 'ocr-space', OCR_PROVIDER_URL: 'https://ocr.example/' }],
  ['OCR_PROVIDER', { OCR_PROVIDER_URL: 'https://ocr.example/', OCR_PROVIDER_KEY: 'x' }],
  [
    'OCR_PROVIDER_URL',
    { OCR_PROVIDER: 'ocr-space', OCR_PROVIDER_URL: 'http://ocr.example/', OCR_PROVIDER_KEY: 'x' }
  ],
  ['ALLOGGIATI_MODE', CREDENTIALS],
  ['ALLOGGIATI_MODE', { ALLOGGIATI_ENDPOINT: 'https://polizia.example/' }],
  ['ALLOGGIATI_PASSWORD', { ALLOGGIATI_MODE: 'production', ALLOGGIATI_UTENTE: 'XX000000' }],
  ['ALLOGGIATI_UTENTE', { ALLOGGIATI_MODE: 'production', ALLOGGIATI_PASSWORD: 'x', ALLOGGIATI_WSKEY: 'y' }],
  ['ALLOGGIATI_WSKEY', { ALLOGGIATI_MODE: 'production', ALLOGGIATI_UTENTE: 'x', ALLOGGIATI_PASSWORD: 'y' }],
  ['ALLOGGIATI_ENDPOINT', { ALLOGGIATI_MODE: 'sandbox', ALLOGGIATI_ENDPOINT: 'https://polizia.example/' }],
  [
    'ALLOGGIATI_ENDPOINT',
    { ...CREDENTIALS, ALLOGGIATI_MODE: 'production', ALLOGGIATI_ENDPOINT: 'http://polizia.example/' }
  ],
  [
    'ALLOGGIATI_ENDPOINT',
    { ...CREDENTIALS, ALLOGGIATI_MODE: 'production', ALLOGGIATI_ENDPOINT: 'http://localhost.polizia.example/' }
  ],
  [
    'ALLOGGIATI_ENDPOINT',
    { ...CREDENTIALS, ALLOGGIATI_MODE: 'production', ALLOGGIATI_ENDPOINT: 'http://127.0.0.1@polizia.example/' }
  ],
  ['ALLOGGIATI_ENDPOINT', { ...CREDENTIALS, ALLOGGIATI_MODE: 'production', ALLOGGIATI_ENDPOINT: 'http://10.0.0.1/' }],
  ['TODAY', { ...CREDENTIALS, ALLOGGIATI_MODE: 'production', TODAY: '2026-11-21' }],
  ['ADMIN_PASSWORD', { ADMIN_EMAIL: 'capo@example.com' }],
  ['ADMIN_EMAIL', { ADMIN_PASSWORD: 'abbastanza-lunga' }],
  ['S3_ENDPOINT', { S3_BUCKET: 'file', S3_ACCESS_KEY_ID: 'a', S3_SECRET_ACCESS_KEY: 's' }],
  ['S3_REGION', { S3_REGION: 'eu-south-1' }],
  ['S3_SECRET_ACCESS_KEY', { S3_ENDPOINT: 'https://s3.example', S3_BUCKET: 'file', S3_ACCESS_KEY_ID: 'a' }],
  ['MAIL_FROM', { SMTP_URL: 'smtp://mail.example' }],
  ['BACKUP_PASSPHRASE', { BACKUP_DIR: '/srv/salvataggi' }],
  ['SMTP_URL', { ALARM_EMAIL: 'direzione@example.com' }],
  ['SIGNUP_ENABLED', { SIGNUP_ENABLED: 'true' }],
  ['PUBLIC_URL', { PUBLIC_URL: 'https://locanda:segreto@casa.example' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgres://locanda:50%dopo@db.example/locanda' }],
  ['SMTP_URL', { SMTP_URL: 'smtp://posta:50%dopo@mail.example', MAIL_FROM: 'casa@example.com' }],
  ['PASSKEY_DOMAIN', { PASSKEY_DOMAIN: 'locanda.example' }],
  ['PASSKEY_DOMAIN', { PASSKEY_DOMAIN: 'locanda.example', PUBLIC_URL: 'https://lalocanda.example' }],
  ['PASSKEY_DOMAIN', { PASSKEY_DOMAIN: 'idp.example', IDP_URL: 'https://idp.example', IDP_ANON_KEY: 'a' }],
  ['IDP_ANON_KEY', { IDP_URL: 'https://idp.example' }],
  ['IDP_ANON_KEY', { IDP_ANON_KEY: 'chiave-anonima' }],
  ['IDP_JWT_SECRET', { IDP_JWT_SECRET: 'un-segreto-lungo' }],
  ['IDP_SERVICE_KEY', { IDP_SERVICE_KEY: 'chiave-di-servizio' }],
  [
    'ADMIN_EMAIL',
    {
      IDP_URL: 'https://idp.example',
      IDP_ANON_KEY: 'a',
      ADMIN_EMAIL: 'capo@example.com',
      ADMIN_PASSWORD: 'abbastanza-lunga'
    }
  ]
]

/** Asserts that the start fails with one line that names the variable and omits its value. */
function refuses (t: Test, variable: string, environ: Environ) {
  const title = JSON.stringify(environ)
  try {
    readConfig({ MASTER_KEY, DATA_DIR: '/non/usata', ...environ })
    t.fail(`${title} was accepted`)
  } catch (err) {
    t.ok(err instanceof ConfigError, title)
    const message = err instanceof Error ? err.message : ''
    t.match(message, new RegExp(`^${variable}: \\S[^\\n]*$`), title)
    t.notMatch(message, /must|should|\^|undefined|object Object|illeggibile|forma giusta/, `${title}: in Italian`)
    const value = environ[variable]
    if (value !== undefined && value.length > 4) t.notOk(message.includes(value), `${title}: the value may be a secret`)
  }
}

t.test('invalid values of every variable prevent the start, with one line that names the variable', async (t) => {
  t.same([...Object.keys(BAD), ...FREE].sort(), Object.keys(Environment.properties).sort(), 'all variables are tested')
  for (const [variable, values] of Object.entries(BAD)) {
    for (const value of values) refuses(t, variable, { [variable]: value })
  }
})

t.test('contradictory values prevent the start, with one line that names one of the variables', async (t) => {
  for (const [variable, environ] of CONTRADICTIONS) refuses(t, variable, environ)
})

t.test('the defaults are sandbox mode and loopback only', async (t) => {
  const config = readConfig({ MASTER_KEY })
  t.match(config, {
    PORT: 3000,
    HOST: '127.0.0.1',
    PUBLIC_URL: 'http://127.0.0.1:3000',
    DATA_DIR: resolve('data'),
    ALLOGGIATI_MODE: 'sandbox',
    LOG_LEVEL: 'info',
    RATE_LIMIT_MAX: 300,
    RATE_LIMIT_LOGIN_MAX: 10,
    RATE_LIMIT_HEAVY_MAX: 60,
    RATE_LIMIT_WINDOW: 60,
    TRUST_PROXY: [],
    CORS_ORIGINS: [],
    REDIRECT_URLS: [],
    DATABASE_URL: undefined,
    API_KEY: undefined
  })
  t.ok(Object.isFrozen(config))
})

t.test('an empty value counts as unset, and unknown variables are ignored', async (t) => {
  const empty = Object.fromEntries(Object.keys(Environment.properties).map((name) => [name, '']))
  t.same(readConfig({ ...empty, MASTER_KEY, HOME: '/home', constructor: 'x' }), readConfig({ MASTER_KEY }))
})

t.test('valid values are accepted', async (t) => {
  const pem = join(temporaryFolder(t), 'ca.pem')
  writeFileSync(pem, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  const production = { ...CREDENTIALS, ALLOGGIATI_MODE: 'production' }
  t.match(readConfig({ MASTER_KEY, HOST: 'fe80::1%eth0', PUBLIC_URL: 'http://a' }), { HOST: 'fe80::1%eth0' })
  t.match(readConfig({ MASTER_KEY, PORT: '8080', HOST: '::1' }), { PORT: 8080, PUBLIC_URL: 'http://[::1]:8080' })
  t.match(readConfig({ MASTER_KEY, PUBLIC_URL: 'https://locanda.example//' }), {
    PUBLIC_URL: 'https://locanda.example'
  })
  t.match(readConfig({ MASTER_KEY, TRUST_PROXY: '10.0.0.0/8, 127.0.0.1 ,2001:db8::/32' }), {
    TRUST_PROXY: ['10.0.0.0/8', '127.0.0.1', '2001:db8::/32']
  })
  t.match(readConfig({ MASTER_KEY, CORS_ORIGINS: 'https://a.example,http://localhost:5173' }), {
    CORS_ORIGINS: ['https://a.example', 'http://localhost:5173']
  })
  t.match(readConfig({ MASTER_KEY, ...production, ALLOGGIATI_CA_FILE: pem }), {
    ALLOGGIATI_MODE: 'production',
    ALLOGGIATI_CA: /BEGIN CERTIFICATE/
  })
  for (const endpoint of ['https://polizia.example/x.asmx', 'http://127.0.0.1:8080/', 'http://[::1]:8080/']) {
    t.match(readConfig({ MASTER_KEY, ...production, ALLOGGIATI_ENDPOINT: endpoint }), { ALLOGGIATI_ENDPOINT: endpoint })
  }
  t.match(
    readConfig({ MASTER_KEY, ALLOGGIATI_MODE: 'production' }),
    { ALLOGGIATI_MODE: 'production' },
    'a production server may have no credentials'
  )
})

t.test('configWarnings warns about values that are probably unintended', async (t) => {
  t.same(configWarnings(readConfig({ MASTER_KEY })), [])
  for (const HOST of ['0.0.0.0', '::']) {
    t.match(configWarnings(readConfig({ MASTER_KEY, HOST })), [/PUBLIC_URL is not set/])
    t.same(configWarnings(readConfig({ MASTER_KEY, HOST, PUBLIC_URL: 'https://locanda.example' })), [])
  }
  const mode = { MASTER_KEY, ALLOGGIATI_MODE: 'production' }
  t.match(configWarnings(readConfig(mode)), [/without credentials/, /no nightly backups: set BACKUP_DIR/])
  const backups = { BACKUP_DIR: '/srv/salvataggi', BACKUP_PASSPHRASE: 'otto barche sul lago' }
  t.same(configWarnings(readConfig({ ...mode, ...CREDENTIALS, ...backups })), [])
  const plain = { ...mode, ...CREDENTIALS, ...backups, PUBLIC_URL: 'http://locanda.example' }
  t.match(configWarnings(readConfig(plain)), [/plain http/])
})

t.test('a certificate file without a certificate prevents the start', async (t) => {
  const file = join(temporaryFolder(t), 'ca.pem')
  writeFileSync(file, 'ciao')
  refuses(t, 'ALLOGGIATI_CA_FILE', { ALLOGGIATI_CA_FILE: file })
})

t.test('without MASTER_KEY a key is generated and stored, and only its owner can read it', async (t) => {
  const DATA_DIR = join(temporaryFolder(t), 'nuova', 'cartella')
  const { MASTER_KEY: made } = readConfig({ DATA_DIR })
  t.equal(made.length, 32)
  t.equal(statSync(join(DATA_DIR, 'master.key')).mode & 0o777, 0o600)
  t.equal(statSync(DATA_DIR).mode & 0o777, 0o700)
  t.same(readdirSync(DATA_DIR), ['master.key'], 'no temporary file remains')
  t.ok(readConfig({ DATA_DIR }).MASTER_KEY.equals(made))
  t.notOk(readConfig({ DATA_DIR: temporaryFolder(t) }).MASTER_KEY.equals(made), 'another folder has another key')
  t.ok(
    readConfig({ DATA_DIR, MASTER_KEY }).MASTER_KEY.equals(Buffer.alloc(32, 1)),
    'a given key takes precedence over the file'
  )
})

t.test('a DATA_DIR that is a file prevents the start with the reason, even for root', async (t) => {
  const DATA_DIR = join(temporaryFolder(t), 'dati')
  writeFileSync(DATA_DIR, '')
  t.throws(() => readConfig({ DATA_DIR }), {
    name: 'ConfigError', message: /^DATA_DIR: la cartella \S+ non si può usare: non è una cartella/
  })
})

t.test(
  'a key file that others can read, or that is damaged or not regular, prevents the start',
  async (t) => {
    for (const mode of [0o640, 0o604, 0o620, 0o644]) {
      const DATA_DIR = temporaryFolder(t)
      const { MASTER_KEY: made } = readConfig({ DATA_DIR })
      chmodSync(join(DATA_DIR, 'master.key'), mode)
      refusesKey(t, DATA_DIR)
      chmodSync(join(DATA_DIR, 'master.key'), 0o600)
      t.ok(readConfig({ DATA_DIR }).MASTER_KEY.equals(made))
    }
    for (const content of ['', 'ciao\n', `${MASTER_KEY.slice(0, 40)}\n`]) {
      const DATA_DIR = temporaryFolder(t)
      writeFileSync(join(DATA_DIR, 'master.key'), content, { mode: 0o600 })
      refusesKey(t, DATA_DIR)
      t.equal(readFileSync(join(DATA_DIR, 'master.key'), 'utf8'), content)
    }
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'master.key'))
    refusesKey(t, folder)
    const nowhere = temporaryFolder(t)
    symlinkSync(join(nowhere, 'altrove'), join(nowhere, 'master.key'))
    refusesKey(t, nowhere)
    // The read of a pipe would block forever, so the start runs in a separate process.
    const pipe = temporaryFolder(t)
    spawnSync('mkfifo', ['-m', '600', join(pipe, 'master.key')])
    const env = { DATA_DIR: pipe, NODE_COMPILE_CACHE: COMPILE_CACHE }
    const { stderr } = spawnSync(process.execPath, [SERVER], { env, timeout: 60_000 })
    t.match(String(stderr), /^Locanda non può partire: MASTER_KEY: [^\n]*master\.key non è un file\n$/)

    function refusesKey (t: Test, DATA_DIR: string) {
      t.throws(() => readConfig({ DATA_DIR }), {
        name: 'ConfigError', message: /^MASTER_KEY: [^\n]*\/master\.key [^\n]*$/
      })
    }
  }
)

t.test('processes that start together on an empty folder have the same key', async (t) => {
  const DATA_DIR = join(temporaryFolder(t), 'dati')
  const config = fileURLToPath(new URL('../../src/config/config.ts', import.meta.url))
  const script = `
    const { readConfig } = await import(${JSON.stringify(config)})
    process.stdout.write('.')
    process.stdin.once('data', () => {
      process.stdout.write(readConfig({ DATA_DIR: process.argv[1] }).MASTER_KEY.toString('hex'))
      process.exit()
    })`
  const args = [LOAD_FAST, '--input-type=module', '-e', script, DATA_DIR]
  const children = [1, 2, 3].map(() => spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] }))
  t.teardown(() => children.forEach((child) => child.kill('SIGKILL')))
  await Promise.all(children.map((child) => once(child.stdout, 'readable')))
  t.notOk(existsSync(DATA_DIR))
  for (const child of children) child.stdin.write('go\n')
  const keys = await Promise.all(children.map((child) => text(child.stdout)))
  t.match(keys[0], /^\.[0-9a-f]{64}$/)
  t.same(new Set(keys).size, 1)
  t.same(readdirSync(DATA_DIR), ['master.key'])
})

t.test(
  '.env.example documents every variable of the server exactly once, with its default',
  async (t) => {
    const lines = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8').split('\n')
    const entries = lines
      .flatMap((line) => /^([A-Z0-9_]+)=(.*)$/.exec(line)?.slice(1, 3) ?? [])
      .reduce<[string, string][]>((pairs, part, i, all) => (i % 2 ? pairs : [...pairs, [part, all[i + 1] ?? '']]), [])
    t.same(entries.map(([name]) => name).sort(), Object.keys(Environment.properties).sort())
    t.same(
      lines.filter((line) => line !== '' && !/^(# \S|[A-Z0-9_]+=)/.test(line)),
      [],
      'the file contains only comments and variables'
    )
    for (const [name, value] of entries) {
      const standard: unknown = Environment.properties[name as keyof Environment].default
      t.equal(value, standard === undefined ? '' : String(standard), name)
    }
    t.match(
      readConfig({ ...Object.fromEntries(entries), MASTER_KEY }),
      readConfig({ MASTER_KEY }),
      'unchanged, the file sets only defaults'
    )
  }
)

const environ = { BACKUP_PASSPHRASE: 'otto barche sul lago', MASTER_KEY: Buffer.alloc(32, 1).toString('base64') }

const GOOGLE = {
  name: 'google',
  client_id: 'id',
  client_secret: 'segreto-che-non-si-dice',
  issuer: 'https://accounts.google.com'
}
const GITHUB = { name: 'github', client_id: 'id', client_secret: 'segreto-che-non-si-dice' }

t.test('BACKUP_DIR inside the database or stored files prevents the start, even through symbolic links', async (t) => {
  const folder = temporaryFolder(t)
  const DATA_DIR = join(folder, 'dati')
  const elsewhere = join(folder, 'disco')
  for (const made of [join(DATA_DIR, 'files', '4a'), join(elsewhere, 'base', 'copie')]) {
    mkdirSync(made, { recursive: true })
  }
  symlinkSync(join(elsewhere, 'base'), join(DATA_DIR, 'postgres'))
  symlinkSync(join(DATA_DIR, 'files'), join(folder, 'legame'))
  symlinkSync(DATA_DIR, join(folder, 'stessi-dati'))
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

t.test('BACKUP_DIR inside a missing data folder prevents the start, and creates no folder', async (t) => {
  const folder = temporaryFolder(t)
  const DATA_DIR = join(folder, 'dati')
  for (const name of ['postgres', 'files']) {
    const BACKUP_DIR = join(DATA_DIR, name, 'salvataggi')
    t.throws(() => readConfig({ ...environ, MASTER_KEY: '', DATA_DIR, BACKUP_DIR }), { message: /^BACKUP_DIR: / })
  }
  t.same(readdirSync(folder), [])
})

t.test('parseProviders returns a valid list unchanged', (t) => {
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

t.test('parseProviders names the invalid field and does not repeat secrets', (t) => {
  const cases: [wrong: unknown, problem: RegExp][] = [
    ['{', /^non è JSON$/],
    [{}, /^deve essere un elenco JSON$/],
    [[7], /^\[0\] deve essere un oggetto$/],
    [[null], /^\[0\] deve essere un oggetto$/],
    [[[]], /^\[0\] deve essere un oggetto$/],
    [[{}], /^\[0\]\.name manca$/],
    [[{ ...GOOGLE, segreto: 'x' }], /^\[0\] ha un campo che un provider OpenID Connect non ha: segreto$/],
    [
      JSON.stringify([GOOGLE]).replace('"name"', '"__proto__":"x","name"'),
      /^\[0\] ha un campo che un provider OpenID Connect non ha: __proto__$/
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
    [[{ ...GITHUB, issuer: 'https://github.com' }], /^\[0\] ha un campo che github non ha: issuer$/],
    [
      [{ ...GOOGLE, token_endpoint: 'https://x.example' }],
      /^\[0\] ha un campo che un provider OpenID Connect non ha: token_endpoint$/
    ],
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
