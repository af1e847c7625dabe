import { randomBytes } from 'node:crypto'
import process from 'node:process'
import type { Static } from '@sinclair/typebox'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { ClientConfig } from '#schemas/operator.ts'
import type { Session } from '#schemas/session.ts'
import type { SignedUrl } from '#schemas/signed-url.ts'

/*
 * Tests sign-in and file storage of a running server with the official Supabase client:
 * ADMIN_EMAIL=… ADMIN_PASSWORD=… npm run tour [-- https://locanda.example]
 * This administrator has no second factor. The devDependencies must be installed (`npm ci`).
 * It creates an operator and deletes it again. The exit code is 1 after the first unexpected response.
 */

const { createClient } = await import('@supabase/supabase-js').catch(() => {
  process.stderr.write('Sorpresa: manca il client ufficiale, @supabase/supabase-js: installarlo con «npm ci»\n')
  process.exit(1)
})

const [url = 'http://127.0.0.1:3000'] = process.argv.slice(2)
const { ADMIN_EMAIL = '', ADMIN_PASSWORD = '' } = process.env

let clientConfig: Static<typeof ClientConfig>

function say (about: string, text: string): void {
  process.stdout.write(`${about.padEnd(13)} ${text}\n`)
}

/** A new client, with no session. `authorization` replaces the default key. */
function client (authorization?: string) {
  const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization }
  return createClient(clientConfig.backendUrl, clientConfig.backendKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { headers }
  })
}

async function signIn (email: string, password: string) {
  const { auth } = client()
  const { data, error } = await auth.signInWithPassword({ email, password })
  if (error) throw error
  say('Accesso', `${data.user.email}, ruolo ${data.user.app_metadata.role}`)
  return { auth, token: data.session.access_token }
}

async function send (path: string, init: RequestInit): Promise<Response> {
  return await fetch(new URL(path, url), init).catch((cause: unknown) => {
    const way = 'avviare il server con «make start», o indicarne l’indirizzo dopo «--»'
    throw new Error(`${url} non risponde: ${way}`, { cause })
  })
}

/** An API request. Throws on any other status than expected. */
async function api (path: string, token?: string, body?: object, expected = 200): Promise<Response> {
  const response = await send(path, {
    method: body ? 'POST' : 'GET',
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {})
    },
    body: body && JSON.stringify(body)
  })
  if (response.status !== expected) {
    throw new Error(`${path}: ${response.status} invece di ${expected}: ${await response.text()}`)
  }
  return response
}

async function tour (): Promise<void> {
  if (ADMIN_EMAIL === '' || ADMIN_PASSWORD === '') {
    throw new Error('servono ADMIN_EMAIL e ADMIN_PASSWORD, di un amministratore senza secondo fattore')
  }
  clientConfig = await (await api('/api/config')).json() as typeof clientConfig
  say('Provider', clientConfig.backendUrl)

  const admin = await signIn(ADMIN_EMAIL, ADMIN_PASSWORD)
  const { data, error } = await admin.auth.getClaims()
  if (error) throw error
  say(
    'Token',
    `${data!.header.alg}, verificato con le chiavi pubbliche; scade alle ` +
      `${new Date(data!.claims.exp * 1000).toLocaleTimeString('it-IT')}`
  )

  const bookings = await api('/api/v1/prenotazioni?limit=1', admin.token)
  say('Prenotazioni', `${bookings.headers.get('x-total-count')}`)

  const [email, password] = [
    `giro-${randomBytes(4).toString('hex')}@example.org`,
    randomBytes(18).toString('base64url')
  ]
  const operator = (await (
    await api('/api/operators', admin.token, { email, password, name: 'Piero', surname: 'Prova' })
  ).json()) as AuthUser
  say('Operatore', `creato ${operator.email}`)
  try {
    await asOperator(email, password)
  } finally {
    await remove(operator, admin.token)
  }
  await admin.auth.signOut({ scope: 'local' })
}

async function remove ({ id, email }: AuthUser, token: string): Promise<void> {
  const { error } = await client(`Bearer ${token}`).auth.admin.deleteUser(id)
  if (error) throw error
  say('Operatore', `eliminato ${email}`)
}

async function asOperator (email: string, password: string): Promise<void> {
  const [here, there] = [await signIn(email, password), await signIn(email, password)]
  await api('/api/users', here.token, undefined, 403)
  say('Permessi', 'un operatore non vede gli utenti: 403')

  const updated = await here.auth.updateUser({ data: { lingua: 'it', surname: null } })
  if (updated.error) throw updated.error
  say('Metadati', JSON.stringify(updated.data.user.user_metadata))

  const { data: before } = await here.auth.getSession()
  const { data: { session }, error } = await here.auth.refreshSession()
  if (error) throw error
  if (!session || session.refresh_token === before.session?.refresh_token) {
    throw new Error('il rinnovo non ha dato un altro token')
  }
  say('Rinnovo', `un altro refresh token; il nuovo accesso vale ${session.expires_in / 60} minuti`)

  await filesTour(session.access_token)

  const sessions = await (await api('/api/sessions', session.access_token)).json() as Static<typeof Session>[]
  say(
    'Sessioni',
    sessions.map(({ ip, user_agent, current }) => `${ip} ${user_agent}${current ? ' (questa)' : ''}`).join(', ')
  )

  const out = await here.auth.signOut({ scope: 'global' })
  if (out.error) throw out.error
  for (const token of [here.token, session.access_token, there.token]) {
    await api('/api/v1/prenotazioni', token, undefined, 401)
  }
  say('Uscita', 'ovunque: i token di prima ricevono 401')
}

/** Uploads a file to the public bucket, lists it, reads it by a signed link, and deletes it. */
async function filesTour (token: string): Promise<void> {
  const files = client(`Bearer ${token}`).storage.from('public')
  const name = `giro-${randomBytes(4).toString('hex')}/saluto.txt`
  const [folder = ''] = name.split('/')
  const uploaded = await files.upload(name, 'Benvenuti', { contentType: 'text/plain' })
  if (uploaded.error) throw uploaded.error
  try {
    const { data: list, error } = await files.list(folder)
    if (error) throw error
    say('File', `nel bucket public: ${list.map(({ name, metadata }) => `${name}, ${metadata?.size} byte`).join()}`)
    const link = await (await api(`/api/storage/signed-url?bucket=public&file=${name}`, token)).json() as SignedUrl
    const read = await (await fetch(link.signedUrl)).text()
    if (read !== 'Benvenuti') throw new Error(`il link firmato dà ${read}`)
    say('Link', `firmato, senza credenziali, fino alle ${new Date(link.expires_at).toLocaleTimeString('it-IT')}`)
  } finally {
    const { data } = await files.remove([name])
    say('File', `eliminati: ${data?.length ?? 0}`)
  }
}

try {
  await tour()
  say('Fine', 'nessuna sorpresa')
} catch (err) {
  process.stderr.write(`Sorpresa: ${err instanceof Error ? err.message : String(err)}\n`)
  process.exitCode = 1
}
