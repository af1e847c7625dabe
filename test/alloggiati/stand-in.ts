import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Test } from 'tap'
import type { BuildOptions } from '#src/app.ts'
import type { Schedina } from '#schemas/schedina.ts'
import { single } from '#test/alloggiati/rules/samples.ts'
import { plainResponse } from '#test/alloggiati/service/soap/calls.ts'
import { response, readRequest, type Behaviour, type Received } from '#test/alloggiati/service/soap/server.ts'
import { envelope, rowsOf } from '#test/alloggiati/service/soap/xml.ts'
import { testClock } from '#test/clock.ts'
import { freePort } from '#test/free-port.ts'
import { build, temporaryFolder, type TestApp } from '#test/helper.ts'
import { oracle, type Oracle } from './oracle.ts'

/* A police service on loopback with programmable responses, which records the calls. */

export const CREDENTIALS = {
  ALLOGGIATI_UTENTE: 'RM000001', ALLOGGIATI_PASSWORD: 'parola-di-prova', ALLOGGIATI_WSKEY: 'chiave-di-prova'
}

export interface Call extends Received { operation: string, rows: string[] }

export interface StandIn extends Oracle {
  endpoint: string
  /** The complete requests so far. */
  calls: Call[]
  /** Operations with at least one received byte, in order. They include incomplete requests. */
  startedCalls: string[]
  /** The behaviour for an operation, instead of the successful response. */
  on: Record<string, Behaviour | undefined>
  /** Gets the operation at the first bytes of a request. The response waits for it, and is omitted if it fails. */
  firstByte?: (operation: string, socket: Socket) => Promise<void>
  /** Gets every new connection. If it returns true, the stand-in reads nothing from the connection. */
  connection?: (socket: Socket) => boolean
  callsOf (operation: string): Call[]
  /** Resets behaviours, calls and acquired rows. */
  forget (): void
  /** Keeps open connections, and refuses new ones. */
  refuse (): void
  /** Stops listening, or listens again at the same address. */
  stop (): Promise<void>
  start (): Promise<void>
}

/** A stand-in that accepts every request until `on` is set. It stops when the test ends. */
export async function standIn (t: Test): Promise<StandIn> {
  const police = await openStandIn(oracle(join(temporaryFolder(t), 'acquired')))
  t.teardown(police.stop)
  return police
}

/** A stand-in that runs until it is stopped. Sends that it confirms are acquired. */
export async function openStandIn (memory: Oracle): Promise<StandIn> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let input = Buffer.alloc(0)
    let before: Promise<void> | undefined
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    if (self.connection?.(socket)) return
    socket.on('data', (chunk) => {
      input = Buffer.concat([input, chunk])
      const operation = /action="AlloggiatiService\/(\w+)"/.exec(input.toString('latin1'))?.[1]
      if (operation === undefined) return
      if (before === undefined) {
        self.startedCalls.push(operation)
        before = self.firstByte?.(operation, socket) ?? Promise.resolve()
        before.catch(() => {})
      }
      const received = readRequest(input)
      if (received === undefined) return
      input = Buffer.alloc(0)
      before.then(() => {
        const call = { ...received, operation, rows: rowsOf(received.body) }
        self.calls.push(call)
        const behaviour = self.on[operation] ?? (() => {
          if (/Send$/.test(operation)) self.acquire(call.rows)
          response(successReply(call))(socket, call)
        })
        behaviour(socket, call)
      }, () => socket.destroy())
    })
  })
  // A fixed port, so that the stand-in has the same port after a restart.
  const port = await freePort()
  /** The number of rows that were acquired before the last `forget`. */
  let forgotten = 0
  const self: StandIn = {
    ...memory,
    acquired: () => memory.acquired().slice(forgotten),
    endpoint: `http://127.0.0.1:${port}/service.asmx`,
    calls: [],
    startedCalls: [],
    on: {},
    callsOf: (operation) => self.calls.filter((call) => call.operation === operation),
    forget () {
      self.on = {}
      delete self.firstByte
      delete self.connection
      self.calls.length = 0
      self.startedCalls.length = 0
      forgotten = memory.acquired().length
    },
    async start () {
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    },
    refuse: () => { server.close() },
    async stop () {
      for (const socket of sockets) socket.destroy()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    }
  }
  await self.start()
  return self
}

/** The environment of a production server that uses the stand-in as police service. */
export function productionEnviron ({ endpoint }: { endpoint: string }): Record<string, string> {
  if (new URL(endpoint).hostname !== '127.0.0.1') throw new Error('The police of a test is on loopback')
  return { ALLOGGIATI_MODE: 'production', ALLOGGIATI_ENDPOINT: endpoint, ...CREDENTIALS }
}

/** An application in production mode that uses the stand-in as police service. */
export async function production (
  t: Test,
  police: { endpoint: string },
  environ: Record<string, string> = {},
  options: Pick<BuildOptions, 'times' | 'clock'> = {}
): Promise<TestApp> {
  return build(t, { ...productionEnviron(police), ...environ }, undefined, options)
}

/** The body of an `invio` of these guests. They arrive on the date of the system clock, as production requires. */
export function invio (ospiti: readonly Schedina[], more: Record<string, unknown> = {}): object {
  return { ospiti, prenotazione: { check_in: testClock().today(), numero_notti: 3 }, ...more }
}

/** The n-th invented guest. Each n is another person with another document. */
export function guestNo (n: number, changes: Schedina = {}): Schedina {
  // Names with the same letters in any order count as the same person, so each digit becomes a different letter.
  const letters = [...n.toString(8)].reverse().map((digit, at) => 'BCDFGH'[at]!.repeat(Number(digit))).join('')
  const numero_documento = `CA${10_000 + n}AA`
  return single({ cognome: `NUMERATI ${letters}`, numero_documento, ...changes })
}

/** A reply to a call with rows, with one outcome per row. `valid` is the count in the reply, right or wrong. */
export function rowsReply (
  operation: string,
  outcomes: readonly boolean[],
  valid = outcomes.filter(Boolean).length
): string {
  const detail = (esito: boolean) =>
    esito
      ? '<EsitoOperazioneServizio><esito>true</esito></EsitoOperazioneServizio>'
      : '<EsitoOperazioneServizio><esito>false</esito><ErroreCod>12</ErroreCod>' +
        '<ErroreDes>SCHEDINA_CAMPO_NON_CORRETTO</ErroreDes>' +
        '<ErroreDettaglio>Numero Documento non valido</ErroreDettaglio></EsitoOperazioneServizio>'
  const details = `<Dettaglio>${outcomes.map(detail).join('')}</Dettaglio>`
  const result = `<result><SchedineValide>${valid}</SchedineValide>${details}</result>`
  return plainResponse(operation).replace(`</${operation}Response>`, `${result}</${operation}Response>`)
}

/** A reply that refuses the whole call. */
export function refusalReply (operation: string, name: string): string {
  return envelope(
    `<${operation}Response xmlns="AlloggiatiService"><${operation}Result><esito>false</esito><ErroreCod>1</ErroreCod>` +
      `<ErroreDes>${name}</ErroreDes><ErroreDettaglio/></${operation}Result></${operation}Response>`
  )
}

/** A behaviour that delays the reply. `arrived` resolves with the request, and `release` sends the reply. */
export function held () {
  const arrived = Promise.withResolvers<void>()
  let waiting: { socket: Socket, received: Received } | undefined
  const behaviour: Behaviour = (socket, received) => {
    waiting = { socket, received }
    arrived.resolve()
  }
  const release = (then: Behaviour) => { if (waiting) then(waiting.socket, waiting.received) }
  return { behaviour, arrived: arrived.promise, release }
}

/** Much longer than any wait, even on a busy machine. */
const UNTIL_MS = 120_000

/**
 * Waits until `holds` returns true. Rejects after two minutes. The pauses get longer, because many conditions send a
 * request.
 */
export async function until (holds: () => boolean | Promise<boolean>): Promise<void> {
  const startedAt = performance.now()
  while (!await holds()) {
    const waited = performance.now() - startedAt
    if (waited > UNTIL_MS) throw new Error(`not so after ${UNTIL_MS / 1000} s: ${String(holds)}`)
    await wait(Math.min(Math.max(10, waited / 20), 50))
  }
}

/** Every row of every table as text, as a reader of the database files would find it. */
export async function dump ({ app }: TestApp): Promise<string> {
  const tables = await app.sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`
  const rows = await Promise.all(
    tables.map(({ name }) => app.sql.unsafe<{ text: string }[]>(`select t::text as text from ${name} t`))
  )
  return rows.flat().map(({ text }) => text).join('\n')
}

/** The successful response of an operation with its rows. */
export function successReply ({ operation, rows }: Pick<Call, 'operation' | 'rows'>): string {
  if (operation === 'GenerateToken') return loginReply()
  return /Test$|Send$/.test(operation) && operation !== 'Authentication_Test'
    ? rowsReply(operation, rows.map(() => true))
    : plainResponse(operation)
}

/** The successful response of `GenerateToken`, with a token that is valid for `life` milliseconds. */
export function loginReply (life = 3_600_000): string {
  const [issued, expires] = [0, life].map((life) => new Date(testClock().now().getTime() + life).toISOString())
  return envelope('<GenerateTokenResponse xmlns="AlloggiatiService"><GenerateTokenResult>' +
    `<issued>${issued}</issued><expires>${expires}</expires><token>gettone</token></GenerateTokenResult>` +
    '<result><esito>true</esito></result></GenerateTokenResponse>')
}
