import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Closed } from '#schemas/common.ts'
import { build, extraRoutes, temporaryFolder } from './helper.ts'

const SCRIPT = fileURLToPath(new URL('../src/token.ts', import.meta.url))

function run (environ: Record<string, string>, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { env: { PATH: process.env.PATH, ...environ }, encoding: 'utf8' })
  return { status, stdout, stderr }
}

t.test('the token that is printed is accepted by the server of the same folder and address, in its role, and by no other', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  const { app } = await build(t, { DATA_DIR }, extraRoutes((app) => {
    app.get('/prova/admin', { config: { access: 'admin' }, schema: { response: { 200: Closed({}) } } }, async () => ({}))
    app.get('/prova/id', { config: { access: 'auth' }, schema: { response: { 200: Closed({}) } } }, async ({ principal }) => { t.match(principal, { id: 'user:anna', kind: 'user' }) })
  }))
  const use = async (token: string, url: string) => (await app.inject({ url, headers: { authorization: `Bearer ${token.trim()}` } })).statusCode

  const operator = run({ DATA_DIR, PORT: '0' })
  t.equal(operator.status, 0, operator.stderr)
  t.match(operator.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/, 'the token and nothing else')
  t.equal(await use(operator.stdout, '/api/v1/paesi'), 200)
  t.equal(await use(operator.stdout, '/prova/admin'), 403)
  t.equal(await use(run({ DATA_DIR, PORT: '0' }, '--role', 'admin').stdout, '/prova/admin'), 200)
  await use(run({ DATA_DIR, PORT: '0' }, '--sub', 'anna').stdout, '/prova/id')

  t.equal(await use(run({ DATA_DIR: temporaryFolder(t), PORT: '0' }).stdout, '/api/v1/paesi'), 401, 'another installation\'s key')
  t.equal(await use(run({ DATA_DIR, PORT: '0', PUBLIC_URL: 'https://altrove.example' }).stdout, '/api/v1/paesi'), 401, 'another issuer')
})

t.test('what cannot be done is said in one line, with code 1 and without a token', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  for (const [environ, args, says] of [
    [{ DATA_DIR }, ['--role', 'imperatore'], '--role'], [{ DATA_DIR }, ['--role', 'constructor'], '--role'], [{ DATA_DIR }, ['--sub', ''], '--sub'],
    [{ DATA_DIR }, ['--ignota'], '--ignota'], [{ DATA_DIR, PORT: 'tremila' }, [], 'PORT']
  ] as const) {
    const { status, stdout, stderr } = run(environ, ...args)
    t.equal(status, 1, says)
    t.equal(stdout, '')
    t.match(stderr, /^Nessun token: [^\n]+\n$/)
    t.match(stderr, says)
  }
})
