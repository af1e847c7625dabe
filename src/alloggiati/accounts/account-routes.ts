import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { CheckFailure, CheckResponse } from '#schemas/alloggiati.ts'
import { Closed, ErrorBody, IdParams, Ref } from '#schemas/common.ts'
import { POLICE_ERRORS } from '#schemas/errors/groups.ts'
import {
  EstablishmentAccount, EstablishmentAccountBody, EstablishmentAccountResponse
} from '#schemas/police-account.ts'
import { Removed } from '#schemas/unit.ts'
import { findEstablishment, FIRST_ESTABLISHMENT } from '#src/bookings/index.ts'
import emptyBody from '#src/http/empty-body.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { AccountDellAmbiente, AccountNonTrovato, ConnessioneFallita } from '../errors.ts'
import { checkConnection } from '../service/check-connection.ts'
import { accountName } from '../service/police-service.ts'
import { deleteAccountRow, deleteTest, saveTest, saveAccountRow } from './account-rows.ts'
import { accountBodyErrors, presentAccount, refuseUnfinished, requireUsable } from './account-rules.ts'
import type { PoliceAccounts } from './police-accounts.ts'

const route = routesUnder('Strutture')
const URL = '/api/v1/strutture/:id/polizia'
const conflict = { 409: Ref(ErrorBody) }

const getRoute = route({ access: 'auth' }, 'getPoliziaStruttura', 'L’account della Polizia di una struttura', {
  errorCodes: ['STRUTTURA_NON_TROVATA'], params: IdParams, response: { 200: EstablishmentAccountResponse }
})

const putRoute = route(
  { access: 'admin', findValidationErrors: ({ body }: RequestFields) => accountBodyErrors(body) },
  'putPoliziaStruttura', 'Salva l’account della Polizia di una struttura, cifrato', {
    errorCodes: ['STRUTTURA_NON_TROVATA', 'ACCOUNT_DELL_AMBIENTE', 'ACCOUNT_IN_USO'],
    description: 'Password e chiave non sono mai mostrate. Salvare non prova l’accesso: usare `…/polizia/prova`.',
    params: IdParams,
    body: EstablishmentAccountBody,
    response: { 200: EstablishmentAccountResponse, ...conflict }
  }
)

const deleteRoute = route(
  { access: 'admin' }, 'deletePoliziaStruttura', 'Elimina l’account della Polizia di una struttura', {
    errorCodes: ['STRUTTURA_NON_TROVATA', 'ACCOUNT_NON_TROVATO', 'ACCOUNT_IN_USO'],
    params: IdParams,
    response: { 200: Removed, ...conflict }
  }
)

const testRoute = route(
  { access: 'admin' }, 'provaPoliziaStruttura', 'Prova l’accesso con l’account di una struttura', {
    errorCodes: ['STRUTTURA_NON_TROVATA', ...POLICE_ERRORS],
    description: 'Un accesso rifiutato non si ripete per 15 minuti, perché la Polizia può bloccare l’account.',
    params: IdParams,
    body: Closed({}, { examples: [{}] }),
    response: { 200: CheckResponse, 503: Type.Union([Ref(CheckFailure), Ref(ErrorBody)]) }
  }
)

interface AccountRoutesOptions {
  accounts: PoliceAccounts
  keys: Keys
  mode: EstablishmentAccount['modalita']
  clock: Clock
}

/** Routes to show, save, delete and test the police account of an establishment. No response shows its secrets. */
export const accountRoutes: FastifyPluginAsyncTypebox<AccountRoutesOptions> = async (
  app, { accounts, keys, mode, clock }
) => {
  const { audit, db } = app
  for (const schema of [EstablishmentAccount, CheckFailure]) app.addSchema(schema)

  app.get(URL, getRoute, async ({ params: { id } }) => {
    await findEstablishment(db, id)
    return { data: await presentAccount(db, accounts, mode, id) }
  })

  app.put(URL, putRoute, async (request) => {
    const { params: { id } } = request
    const body = withTrimmedUser(request.body)
    await findEstablishment(db, id)
    if (id === FIRST_ESTABLISHMENT && accounts.isGivenByEnvironment) throw new AccountDellAmbiente()
    const inUse = await accounts.read()
    await db.transaction(async (tx) => {
      const { utente, di_struttura = null } = body
      const name = utente && accountName(mode, utente)
      await requireUsable(tx, { inUse, mode, id }, body)
      await refuseUnfinished(tx, { inUse, mode, id }, name)
      await saveAccountRow(tx, keys, { struttura_id: id, modalita: mode }, body)
      if (name) await deleteTest(tx, name)
      const entry = { action: 'account_polizia', object: `struttura:${id}`, details: { di_struttura } } as const
      await audit.append(tx, { ...authorOf(request), ...entry })
    })
    return { data: await presentAccount(db, accounts, mode, id) }
  })

  app.delete(URL, deleteRoute, async (request) => {
    const { id } = request.params
    await findEstablishment(db, id)
    const inUse = await accounts.read()
    await db.transaction(async (tx) => {
      await refuseUnfinished(tx, { inUse, mode, id })
      if (!await deleteAccountRow(tx, id, mode)) throw new AccountNonTrovato()
      await audit.append(tx, { ...authorOf(request), action: 'account_polizia_eliminato', object: `struttura:${id}` })
    })
    return { success: true, message: 'Account della Polizia eliminato' }
  })

  await app.register(loginTest, { accounts, clock })
}

/** Trims the user name, because a pasted space would make it another account. */
function withTrimmedUser (body: EstablishmentAccountBody): EstablishmentAccountBody {
  return body.utente === undefined ? body : { ...body, utente: body.utente.trim() }
}

const loginTest: FastifyPluginAsyncTypebox<Pick<AccountRoutesOptions, 'accounts' | 'clock'>> = async (
  app, { accounts, clock }
) => {
  const { db } = app
  await app.register(emptyBody)

  app.post(`${URL}/prova`, testRoute, async ({ params: { id } }) => {
    await findEstablishment(db, id)
    const account = await accounts.of(id)
    const service = account?.ledger.service ?? null
    try {
      const answer = await checkConnection(service)
      account?.archive.retryRefused()
      await saveResult(null)
      return answer
    } catch (err) {
      if (err instanceof ConnessioneFallita) await saveResult(err.code)
      throw err
    }

    async function saveResult (error: string | null): Promise<void> {
      if (service) await saveTest(db, service.account, error, clock.now())
    }
  })
}
