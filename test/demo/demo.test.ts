import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { freePort } from '#test/free-port.ts'
import { temporaryFolder } from '#test/helper.ts'
import { serverProcess } from '#test/server-process.ts'

const SCRIPT = fileURLToPath(new URL('../../src/demo/index.ts', import.meta.url))
const DAY = '2026-11-28'
const NEXT_DAY = '2026-11-29'

const cwd = temporaryFolder(t)
/** The folder of an installation, which the demo must not touch. */
const installation = temporaryFolder(t)
const port = await freePort()
const url = `http://127.0.0.1:${port}`

async function startDemo (TODAY: string) {
  const environ = { PORT: String(port), TODAY, LOG_LEVEL: 'info', DATA_DIR: installation, DATABASE_URL: 'postgres://x' }
  const server = serverProcess(t, environ, SCRIPT, [], undefined, cwd)
  await server.ready
  const [, email = '', password = ''] = /E-mail: (.+)\nPassword: (.+)\n/.exec(server.errors()) ?? []
  return { server, email, password, isNew: server.errors().includes('Preparazione') }
}

/** Signs in through the page, and returns a function that opens pages. */
async function signIn ({ email, password }: { email: string, password: string }) {
  const jar = new Map<string, string>()
  const send = async (path: string, init: RequestInit = {}) => {
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ')
    const response = await fetch(url + path, { redirect: 'manual', ...init, headers: { origin: url, cookie } })
    for (const each of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      jar.set(name, value)
    }
    return await response.text()
  }
  await send('/auth/accedi')
  await send('/auth/accedi', { method: 'POST', body: new URLSearchParams({ email, password }) })
  return async (path: string) => await send(path)
}

t.test('one command shows a house with a day of work, submissions and receipts', async (t) => {
  const { server, email, password, isNew } = await startDemo(DAY)
  t.ok(isNew)
  t.match(server.errors(), `Locanda dimostrativa: ${url}/\n`)
  const open = await signIn({ email, password })
  const today = await open('/oggi')
  t.match(today, '<span>di 4 arrivi da accogliere</span>')
  t.match(today, /Sabine Neumann.*>Invia</s)
  t.match(today, 'manca il sesso di 1 ospite')
  t.notMatch(today, 'Per cominciare', 'the first steps are done')
  t.match(today, /Marieke Hoekstra.*annullata/s)
  const [, waiting] = /href="\/prenotazioni\/(\d+)">Charlotte Thornbury/.exec(today)!
  t.match(await open(`/prenotazioni/${waiting}`), '>Scegli la più adatta<', 'a unit is free for an arrival without one')
  t.notMatch(await open('/auth/account'), 'lightMyRequest', 'the session that filled the house is over')
  const police = await open('/polizia')
  t.match(police, 'AW-20261127-1', 'the guests of yesterday were sent')
  const bookings = JSON.parse(await api('/api/v1/prenotazioni?limit=100', { email, password })) as {
    data: { nome_cognome: string, numero_ospiti: number }[]
  }
  t.equal(bookings.data.length, 40)
  t.same(bookings.data.filter(({ nome_cognome: name }) => !/^\p{Lu}\p{Ll}+ \p{Lu}[\p{L} ]+$/u.test(name)), [])
  const { data } = JSON.parse(await api('/api/v1/invii?limit=50', { email, password })) as { data: { stato: string }[] }
  t.equal(data.length, 12)
  t.ok(data.every(({ stato }) => stato === 'ricevuto'), 'the receipts prove all submissions')
  t.same(readdirSync(installation), [], 'an installation keeps its own data')
  server.signal('SIGTERM')
  t.equal(await server.exit, 0)

  const again = await startDemo(DAY)
  t.match(again, { isNew: false, password })
  again.server.signal('SIGTERM')
  await again.server.exit
})

t.test('on another day the demo creates the house again', async (t) => {
  const { server, email, password, isNew } = await startDemo(NEXT_DAY)
  t.ok(isNew)
  const open = await signIn({ email, password })
  t.match(await open('/oggi'), '<h1>Domenica 29 novembre</h1>')
  t.match(await open('/polizia'), 'AW-20261128-1')
  t.same(readdirSync(join(cwd, 'data-demo')), [NEXT_DAY])
  server.signal('SIGTERM')
  await server.exit
})

async function api (path: string, credentials: { email: string, password: string }): Promise<string> {
  const response = await fetch(`${url}/auth/v1/token?grant_type=password`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(credentials)
  })
  const { access_token } = await response.json() as { access_token: string }
  return await (await fetch(url + path, { headers: { authorization: `Bearer ${access_token}` } })).text()
}
