import type { RouteShorthandOptions } from 'fastify'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { PoliceAccount, PoliceAccountBody, SuspensionBody, SuspensionState } from '#schemas/decisions.ts'
import { AccountQuery } from '#schemas/police-account.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { HeadFileError } from '#src/database/chain-head.ts'
import type { Account, PoliceAccounts } from '../accounts/police-accounts.ts'
import { CartellaNonScrivibile, CredenzialiMancanti } from '../errors.ts'
import { readExclusiveChannel, setExclusiveChannel } from '../ledger/police-account.ts'
import { currentSuspension, resumeSending, suspendSending } from '../ledger/suspension.ts'
import { sweep } from '../ledger/sweep.ts'

const GET_SOSPENSIONE = {
  config: { access: 'auth' },
  schema: {
    operationId: 'getSospensione',
    summary: 'Se gli invii sono sospesi, da chi e perché',
    response: { 200: Ref(SuspensionState) }
  }
} satisfies RouteShorthandOptions

const SET_SOSPENSIONE = {
  config: { access: 'admin', recentFactor: true },
  schema: {
    operationId: 'setSospensione',
    errorCodes: ['CREDENZIALI_MANCANTI', 'CARTELLA_NON_SCRIVIBILE'],
    summary: 'Sospende o riprende tutti gli invii',
    body: SuspensionBody,
    response: { 200: Ref(SuspensionState), 503: Ref(ErrorBody) }
  }
} satisfies RouteShorthandOptions

const GET_ACCOUNT_POLIZIA = {
  config: { access: 'auth' },
  schema: {
    operationId: 'getAccountPolizia',
    errorCodes: ['STRUTTURA_NON_TROVATA', 'CREDENZIALI_MANCANTI'],
    summary: 'L’account della Polizia in uso',
    querystring: AccountQuery,
    response: { 200: Ref(PoliceAccount), 503: Ref(ErrorBody) }
  }
} satisfies RouteShorthandOptions

const SET_ACCOUNT_POLIZIA = {
  config: { access: 'admin' },
  schema: {
    operationId: 'setAccountPolizia',
    errorCodes: ['STRUTTURA_NON_TROVATA', 'CREDENZIALI_MANCANTI'],
    summary: 'Imposta se l’account è usato solo da qui',
    querystring: AccountQuery,
    body: PoliceAccountBody,
    response: { 200: Ref(PoliceAccount), 503: Ref(ErrorBody) }
  }
} satisfies RouteShorthandOptions

/** Routes to read and change the suspension of sending and the exclusive use of the police account. */
export const controlRoutes: FastifyPluginAsyncTypebox<{
  accounts: PoliceAccounts
  mode: PoliceAccount['modalita']
}> = async (app, { accounts, mode }) => {
  const { db } = app
  for (const schema of [SuspensionState, PoliceAccount]) app.addSchema(schema)

  app.get('/api/v1/invii/sospensione', GET_SOSPENSIONE, readSuspension)

  app.post('/api/v1/invii/sospensione', SET_SOSPENSIONE, async (request) => {
    const { sospeso, motivo } = request.body
    const chi = request.principal!.id
    if (!sospeso && (await accounts.read()).accounts.length === 0) throw new CredenzialiMancanti()
    await db.transaction(async (tx) => {
      await (sospeso ? suspendSending(tx, chi, motivo) : resumeSending(tx, chi))
      await app.audit.append(tx, { ...authorOf(request), action: 'sospensione', details: { sospeso } })
      // Resuming accepts the current chain as the true one. Update the noted head before the commit: otherwise the next
      // Send could suspend again.
      if (sospeso) return
      await accounts.base.chainHead.update(tx).catch((err: unknown) => {
        throw err instanceof HeadFileError ? new CartellaNonScrivibile({ cause: err }) : err
      })
    })
    request.log.warn({ actor: chi, suspended: sospeso }, sospeso ? 'sending is suspended' : 'sending is resumed')
    // Send ready submissions now, not with the next sweep. The response does not wait for them.
    if (!sospeso) sweepAll().catch((err: unknown) => request.log.error({ err }, 'a sweep failed'))
    return readSuspension()
  })

  app.get('/api/v1/alloggiati/account', GET_ACCOUNT_POLIZIA, ({ query }) => readAccount(query))

  app.put('/api/v1/alloggiati/account', SET_ACCOUNT_POLIZIA, async (request) => {
    const { ledger } = await connected(request.query)
    await setExclusiveChannel(db, ledger.service.account, request.body.canale_esclusivo)
    return readAccount(request.query)
  })

  async function connected ({ struttura_id }: AccountQuery = {}): Promise<Account> {
    const account = await accounts.of(struttura_id)
    if (account === null) throw new CredenzialiMancanti()
    return account
  }

  async function sweepAll (): Promise<void> {
    const { names, accounts: usable } = await accounts.read()
    await sweep(accounts.base, { names, ledgers: usable.map(({ ledger }) => ledger) })
  }

  async function readSuspension (): Promise<SuspensionState> {
    const suspension = await currentSuspension(db)
    if (suspension === undefined) return { sospeso: false, motivo: null, chi: null, dal: null }
    return { sospeso: true, ...suspension, dal: new Date(suspension.dal).toISOString() }
  }

  async function readAccount ({ struttura_id }: AccountQuery): Promise<PoliceAccount> {
    const service = (await accounts.of(struttura_id))?.ledger.service
    const canale_esclusivo = service !== undefined && await readExclusiveChannel(db, service.account)
    return { utente: service?.utente ?? null, modalita: mode, canale_esclusivo }
  }
}
