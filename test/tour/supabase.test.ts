import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { testDatabase } from '#test/database.ts'
import { serverProcess } from '#test/server-process.ts'
import { freePort } from '#test/free-port.ts'
import { COMPILE_CACHE } from '#test/setup/processes.ts'

const TOUR = fileURLToPath(new URL('supabase.ts', import.meta.url))
const ADMIN = { ADMIN_EMAIL: 'ada@example.org', ADMIN_PASSWORD: 'la-frase-di-chi-comanda' }

async function tour (url: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [TOUR, url], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const code = new Promise<number | null>((resolve) => { child.once('close', resolve) })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, stdout, stderr }
}

t.test('the tour of the README', async (t) => {
  const { sql, url: DATABASE_URL } = await testDatabase(t)
  const port = await freePort()
  const server = serverProcess(t, { DATABASE_URL, PORT: String(port), ...ADMIN })
  const url = await server.ready

  t.test('completes, and no operator or session remains', async (t) => {
    const { code, stdout, stderr } = await tour(url, ADMIN)
    t.same([code, stderr], [0, ''])
    const operator = /creato (giro-[0-9a-f]{8}@example\.org)/.exec(stdout)?.[1]
    t.same(stdout.replace(/alle \S+/g, 'alle …').replaceAll(operator!, 'OPERATORE').split('\n'), [
      `Provider      ${url}`, 'Accesso       ada@example.org, ruolo admin',
      'Token         ES256, verificato con le chiavi pubbliche; scade alle …', 'Prenotazioni  0',
      'Operatore     creato OPERATORE', 'Accesso       OPERATORE, ruolo operator',
      'Accesso       OPERATORE, ruolo operator', 'Permessi      un operatore non vede gli utenti: 403',
      'Metadati      {"name":"Piero","lingua":"it"}',
      'Rinnovo       un altro refresh token; il nuovo accesso vale 60 minuti',
      'File          nel bucket public: saluto.txt, 9 byte', 'Link          firmato, senza credenziali, fino alle …',
      'File          eliminati: 1', 'Sessioni      127.0.0.1 node (questa), 127.0.0.1 node',
      'Uscita        ovunque: i token di prima ricevono 401', 'Operatore     eliminato OPERATORE',
      'Fine          nessuna sorpresa', ''
    ])
    t.same(await sql`select email from users`, [{ email: ADMIN.ADMIN_EMAIL }])
    t.same(await sql`select from sessions`, [])
    t.notMatch(stdout, ADMIN.ADMIN_PASSWORD)
  })

  t.test('exits with 1 after a wrong password, without a password, and without a server', async (t) => {
    const surprise = (text: string) => new RegExp(`^Sorpresa: .*${text}.*\\n$`)
    t.match(await tour(url, { ...ADMIN, ADMIN_PASSWORD: 'sbagliata' }), {
      code: 1,
      stdout: `Provider      ${url}\n`,
      stderr: surprise('Invalid login credentials')
    })
    t.match(await tour(url, {}), { code: 1, stderr: surprise('servono ADMIN_EMAIL e ADMIN_PASSWORD') })
    t.match(await tour(`http://127.0.0.1:${await freePort()}`, ADMIN), {
      code: 1,
      stdout: '',
      stderr: surprise('non risponde: avviare il server con «make start»')
    })
  })
})
