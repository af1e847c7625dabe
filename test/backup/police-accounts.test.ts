import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { houses, must, SECOND } from '#test/alloggiati/accounts/houses.ts'
import { productionEnviron, standIn } from '#test/alloggiati/stand-in.ts'
import { user } from '#test/cli/process.ts'
import { testClock } from '#test/clock.ts'
import { testDatabase } from '#test/database.ts'
import { build, temporaryFolder, type TestApp } from '#test/helper.ts'
import { COMPILE_CACHE } from '#test/setup/processes.ts'

const ROTATION = fileURLToPath(new URL('../../src/rotate-keys.ts', import.meta.url))
const today = testClock().today()
const police = await standIn(t)
const environ = productionEnviron(police)
const server = await build(t, environ)
const { house, unit } = await houses(server, today)
const second = await house({ ...SECOND, categoria: 'singola' })
const third = await house({ di_struttura: second })
const flat = await unit(second)

/** The accounts of all establishments as a server shows them, and whether a test of the second account logs in. */
async function accounts (of: TestApp) {
  const { ask, police: urlOf } = await houses(of, today)
  const shown = await Promise.all([1, second, third].map(async (id) => {
    const { data } = must(await ask('GET', urlOf(id)), 200).json<{ data: object }>()
    return { ...data, ultima_prova: null }
  }))
  police.forget()
  must(await ask('POST', `${urlOf(second)}/prova`, {}), 200)
  const [login] = police.callsOf('GenerateToken')
  return { shown, login: [SECOND.utente, SECOND.password, SECOND.wskey].map((secret) => login!.body.includes(secret)) }
}

t.test('the police accounts of all establishments work after a restore, and after a rotation of keys', async (t) => {
  const before = await accounts(server)
  t.same(before.login, [true, true, true])
  t.match(before.shown, [
    { utente: environ.ALLOGGIATI_UTENTE }, { utente: SECOND.utente, categoria: 'singola' }, { di_struttura: second }
  ])
  const { act } = user(t)
  const file = join(temporaryFolder(t), 'locanda.tar.age')
  const env = {
    ...environ,
    DATABASE_URL: server.url,
    DATA_DIR: server.dataDir,
    MASTER_KEY: server.masterKey,
    BACKUP_PASSPHRASE: 'otto barche sul lago',
    NODE_COMPILE_CACHE: COMPILE_CACHE
  }
  const made = await act(['backup', file], { env })
  t.equal(made.code, 0, made.stderr)
  const empty = { ...env, DATABASE_URL: (await testDatabase(t, true)).url, DATA_DIR: temporaryFolder(t) }
  const restored = await act(['restore', file], { env: empty })
  t.equal(restored.code, 0, restored.stderr)

  const { DATABASE_URL, DATA_DIR, MASTER_KEY } = empty
  const start = () => build(t, { ...environ, DATABASE_URL, DATA_DIR, MASTER_KEY })
  const next = await start()
  t.same(await accounts(next), before)
  t.match((await next.call('GET', `/api/v1/unita/${flat}`)).json(), { data: { struttura_id: second } })

  const { PATH } = process.env
  const rotated = spawnSync(process.execPath, [ROTATION], { env: { PATH, ...empty }, encoding: 'utf8' })
  t.match(rotated, { status: 0, stderr: '' })
  t.same(await accounts(await start()), before)
})
