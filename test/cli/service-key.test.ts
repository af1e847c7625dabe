import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '#test/helper.ts'
import { errorOf, user } from './process.ts'
import { site } from './site.ts'

t.test('the service key of a server\'s folder and address is an administrator there, and nowhere else', async (t) => {
  const { url, dataDir } = await site(t)
  const { run } = user(t)
  const users = async (key: string) =>
    (await fetch(`${url}/auth/v1/admin/users`, { headers: { authorization: `Bearer ${key.trim()}` } })).status
  const own = await run(['service-key'], { env: { DATA_DIR: dataDir, PUBLIC_URL: url } })
  t.equal(own.code, 0, own.stderr)
  t.match(own.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/, 'the key and nothing else')
  t.match(own.stderr, /^[^\n]+\n$/)
  t.notMatch(own.stderr, own.stdout.trim())
  t.equal(await users(own.stdout), 200)

  const other = await run(['service-key'], {
    env: { MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), DATA_DIR: temporaryFolder(t), PUBLIC_URL: url }
  })
  t.equal(other.code, 0)
  t.not(other.stdout, own.stdout)
  t.equal(await users(other.stdout), 403)
})

t.test('with --json it is one field', async (t) => {
  const { code, stdout, stderr } = await user(t).run(['service-key', '--json'], {
    env: { MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }
  })
  t.equal(code, 0)
  t.equal(stderr, '')
  t.match(JSON.parse(stdout), { serviceKey: /^[\w-]+\.[\w-]+\.[\w-]+$/ })
})

t.test('where no server has been there is no key, and none is made', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  for (const folder of [DATA_DIR, join(DATA_DIR, 'nessuna')]) {
    const { code, stdout, stderr } = await user(t).run(['service-key'], { env: { DATA_DIR: folder } })
    t.equal(code, 1)
    t.equal(stdout, '')
    t.match(stderr, /^Errore: [^\n]*DATA_DIR[^\n]*\n$/)
  }
  t.same(readdirSync(DATA_DIR), [])
})

t.test('an environment that the server would not start with is said in one line that names the variable', async (t) => {
  const ended = await user(t).run(['--json', 'service-key'], {
    env: { MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), PORT: 'tremila' }
  })
  t.equal(ended.code, 1)
  t.match(errorOf(ended), { codice: 'CONFIGURAZIONE', messaggio: /^PORT: / })
})
