import Fastify from 'fastify'
import type { Test } from 'tap'
import { startSandbox } from '#src/alloggiati/service/sandbox/sandbox.ts'
import type { Database } from '#src/database/connect.ts'
import { dayInRome, type Clock } from '#src/lib/time.ts'
import { envelope, escapeXml, VERSIONS } from '#test/alloggiati/service/soap/xml.ts'

/* A client that uses no code of the sandbox: envelopes are strings, and replies are searched with patterns. */

export const ACCOUNT = { utente: 'RM000001', password: 'prova & "riprova"', wskey: 'CHIAVE=' }

export interface Reply { status: number, type: string | null, text: string }

/** A clock with a fixed time, which `set` changes. */
export function clockAt (instant: string): Clock & { set (instant: string): void } {
  let now = new Date(instant)
  return { now: () => now, today: () => dayInRome(now), set: (next) => { now = new Date(next) } }
}

/** A sandbox on `db`, which stops at the latest when the test ends. */
export async function sandbox (t: Test, db: Database, clock: Clock) {
  const { endpoint, close } = await startSandbox({
    db, clock, log: Fastify({ logger: { level: 'silent' } }).log, credentials: ACCOUNT
  })
  t.teardown(close)
  return { endpoint, close, ...client(endpoint) }
}

export function client (endpoint: string) {
  async function post (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>): Promise<Reply> {
    const response = await fetch(endpoint, { method: 'POST', body, headers })
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
  }

  /** Makes one call. `children` are the child elements of the operation's element. */
  async function call (operation: string, children: string): Promise<Reply> {
    return await post(envelope(`<a:${operation}>${children}</a:${operation}>`), HEADERS)
  }

  async function token (): Promise<string> {
    const { text } = await call('GenerateToken', login())
    return first(text, 'token')
  }

  return { post, call, token }
}

export const HEADERS = { 'content-type': `${VERSIONS[1.2].mediaType}; charset=utf-8` }

export function login ({ utente, password, wskey } = ACCOUNT): string {
  return `<a:Utente>${escapeXml(utente)}</a:Utente><a:Password>${escapeXml(password)}</a:Password>` +
    `<a:WsKey>${escapeXml(wskey)}</a:WsKey>`
}

/** The first child elements of every other operation. */
export function session (token: string, utente = ACCOUNT.utente): string {
  return `<a:Utente>${utente}</a:Utente><a:token>${token}</a:token>`
}

export function list (rows: string[]): string {
  return `<a:ElencoSchedine>${rows.map((row) => `<a:string>${escapeXml(row)}</a:string>`).join('')}</a:ElencoSchedine>`
}

/** The texts of all elements with that name, in order. An empty element gives ''. */
export function every (xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<(?:\\w+:)?${name}(?:/>|(?: [^>]*)?>([^<]*)</)`, 'g'))].map(
    ([, text = '']) => text
  )
}

export function first (xml: string, name: string): string {
  return every(xml, name)[0] ?? `(no ${name})`
}

/** `esito code description detail` of each outcome in a reply. */
export function outcomes (xml: string): string[] {
  const [codes, names, details] = ['ErroreCod', 'ErroreDes', 'ErroreDettaglio'].map((name) => every(xml, name))
  return every(xml, 'esito').map((esito, i) => [esito, codes?.[i], names?.[i], details?.[i]].join(' ').trim())
}
