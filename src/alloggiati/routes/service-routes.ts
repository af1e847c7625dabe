import type { RouteShorthandOptions } from 'fastify'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import {
  Apartment, ApartmentResponse, ApartmentBody, ApartmentList, ApartmentParams, ApartmentRefused
} from '#schemas/apartment.ts'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { POLICE_ERRORS } from '#schemas/errors/groups.ts'
import { AccountQuery } from '#schemas/police-account.ts'
import type { PoliceAccounts } from '../accounts/police-accounts.ts'
import { addApartment, disableApartment, listApartments } from '../service/apartment-calls.ts'
import { CredenzialiMancanti } from '../errors.ts'
import type { PoliceService } from '../service/police-service.ts'
import { CheckResponse, CheckFailure, SandboxRecords } from '#schemas/alloggiati.ts'
import { checkConnection } from '../service/check-connection.ts'
import { acquired } from '../service/sandbox/sandbox-store.ts'
import { Codice, Codici, CodiciQuery } from '#schemas/codici.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Clock, Day } from '#src/lib/time.ts'
import { isKnown } from '#src/lib/etag.ts'
import { advice, matchingComuni } from '../rules/proposals.ts'
import type { Tables } from '../tables/code-tables.ts'
import { comuneLabel, provinceLabel, stateLabel } from '../tables/labels.ts'

const refused = Type.Union([Ref(ApartmentRefused), Ref(ErrorBody)])

const LIST_APPARTAMENTI = {
  config: { access: 'auth' },
  schema: {
    operationId: 'listAppartamenti',
    errorCodes: ['STRUTTURA_NON_TROVATA', ...POLICE_ERRORS],
    summary: 'Gli appartamenti attivi dell’account',
    querystring: AccountQuery,
    response: { 200: ApartmentList, 503: Ref(ErrorBody) }
  }
} satisfies RouteShorthandOptions

const ADD_APPARTAMENTO = {
  // No `Location`, because the service does not return the new id.
  config: { access: 'admin', idempotent: true, headers: { sends: { Location: [] } } },
  schema: {
    operationId: 'addAppartamento',
    errorCodes: ['STRUTTURA_NON_TROVATA', 'APPARTAMENTO_RIFIUTATO', 'ESITO_SCONOSCIUTO', ...POLICE_ERRORS],
    summary: 'Aggiunge un appartamento all’account',
    querystring: AccountQuery,
    body: ApartmentBody,
    response: { 201: ApartmentResponse(201), 422: refused, 503: Ref(ErrorBody) }
  }
} satisfies RouteShorthandOptions

const DISABLE_APPARTAMENTO = {
  config: { access: 'admin' },
  schema: {
    operationId: 'disableAppartamento',
    errorCodes: ['STRUTTURA_NON_TROVATA', 'APPARTAMENTO_RIFIUTATO', 'ESITO_SCONOSCIUTO', ...POLICE_ERRORS],
    summary: 'Disabilita un appartamento, per sempre',
    params: ApartmentParams,
    querystring: AccountQuery,
    response: { 200: ApartmentResponse(200), 422: refused, 503: Ref(ErrorBody) }
  }
} satisfies RouteShorthandOptions

const CHECK_ALLOGGIATI = {
  config: { access: 'auth' },
  schema: {
    operationId: 'checkAlloggiati',
    errorCodes: [...POLICE_ERRORS],
    summary: 'Prova la connessione e le credenziali',
    // 503 has two shapes: a failed check, and the common error body for overload.
    response: { 200: CheckResponse, 503: Type.Union([Ref(CheckFailure), Ref(ErrorBody)]) }
  }
} satisfies RouteShorthandOptions

const GET_CODICI = {
  config: { access: 'auth' },
  schema: {
    operationId: 'getCodici',
    summary: 'Le tabelle dei codici, o una ricerca con q e limit',
    querystring: CodiciQuery,
    response: { 200: Ref(Codici), 304: Type.Null() }
  }
} satisfies RouteShorthandOptions

const LIST_SCHEDINE_SANDBOX = {
  config: { access: 'auth' },
  schema: {
    operationId: 'listSchedineSandbox',
    errorCodes: ['STRUTTURA_NON_TROVATA', 'CREDENZIALI_MANCANTI'],
    summary: 'Le schedine acquisite dalla sandbox',
    querystring: AccountQuery,
    response: { 200: SandboxRecords }
  }
} satisfies RouteShorthandOptions

interface ServiceRoutesOptions {
  accounts: PoliceAccounts
  mode: PoliceService['mode']
  clock: Clock
  tables (): Promise<Tables>
}

/** Routes that check the service, read its code tables, and manage the apartments of an account. */
export const serviceRoutes: FastifyPluginAsyncTypebox<ServiceRoutesOptions> = async (
  app, { accounts, mode, clock, tables }
) => {
  for (const schema of [Apartment, ApartmentRefused, CheckFailure, Codice, Codici]) app.addSchema(schema)

  app.get('/api/alloggiati/check', CHECK_ALLOGGIATI, async () => {
    const account = await accounts.of()
    const answer = await checkConnection(account?.ledger.service ?? null)
    account?.archive.retryRefused()
    return answer
  })
  app.get('/api/v1/appartamenti', LIST_APPARTAMENTI, async ({ query }) =>
    ({ data: await listApartments(await connected(query)) }))
  app.post('/api/v1/appartamenti', ADD_APPARTAMENTO, async (request, reply) => {
    refuseName(request.body.comune_codice, await tables(), clock.today())
    await addApartment(await connected(request.query), request.body)
    await request.noteDone(app.db)
    reply.code(201)
    return { message: 'Appartamento aggiunto: il servizio gli ha dato un id, che è nell’elenco', status: 201 }
  })
  app.delete('/api/v1/appartamenti/:id', DISABLE_APPARTAMENTO, async ({ params: { id }, query }) => {
    await disableApartment(await connected(query), id)
    const message = `Appartamento ${id} disabilitato: non si può riattivare, solo aggiungere di nuovo con un altro id`
    return { message, status: 200 }
  })
  app.get('/api/alloggiati/codici', GET_CODICI, async (request, reply) => {
    const current = await tables()
    const tag = `"${current.version}"`
    reply.headers({ etag: tag, 'cache-control': 'private, no-cache' })
    if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send(null)
    return codici(current, request.query)
  })
  if (mode === 'sandbox') {
    app.get('/api/alloggiati/sandbox/schedine', LIST_SCHEDINE_SANDBOX, async ({ query }) => (
      { data: await acquired(app.db, (await connected(query)).utente) }))
  }

  async function connected ({ struttura_id }: AccountQuery): Promise<PoliceService> {
    const account = await accounts.of(struttura_id)
    if (account === null) throw new CredenzialiMancanti()
    return account.ledger.service
  }
}

/**
 * Refuses a comune that is not given as its code of nine digits.
 * @throws CampiNonValidi, which names the code if the text means exactly one comune in force
 */
function refuseName (text: string, tables: Tables, today: Day): void {
  if (/^\d{9}$/.test(text)) return
  const { consiglio, ...proposed } = advice(matchingComuni(text, '', tables, today))
  throw new CampiNonValidi({
    campo: 'comune_codice', messaggio: `${text} non è un codice di nove cifre${consiglio}`, ...proposed
  })
}

/** Maximum rows per list when a search has no limit. */
const FOUND_MAX = 100

/**
 * The response of `GET /api/alloggiati/codici`: whole lists, or at most `limit` matches of `q` per list. A comune is
 * shown with its province, a ceased place with its last valid day.
 */
export function codici (tables: Tables, { q, limit = q?.trim() ? FOUND_MAX : undefined }: CodiciQuery = {}): Codici {
  return {
    tipi_documento: tables.search('tipi_documento', q, limit).map(plain),
    paesi: tables.search('paesi', q, limit).map((row) => ({ codice: row.codice, descrizione: stateLabel(row) })),
    comuni: tables.search('comuni', q, limit).map((row) => ({ codice: row.codice, descrizione: comuneLabel(row) })),
    province: tables.search('province', q, limit).map((row) => (
      { codice: row.codice, descrizione: provinceLabel(row) })),
    tipi_alloggiato: tables.search('tipi_alloggiato', q, limit).map(plain)
  }
}

function plain ({ codice, descrizione }: Codice): Codice {
  return { codice, descrizione }
}
