import type { RouteShorthandOptions } from 'fastify'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { PoliceAccount, PoliceAccountBody, SuspensionBody, SuspensionState } from '#schemas/decisions.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { HeadFileError } from '#src/database/chain-head.ts'
import { CartellaNonScrivibile, CredenzialiMancanti } from '../errors.ts'
import { readExclusiveChannel, setExclusiveChannel } from '../ledger/police-account.ts'
import type { LedgerContext } from '../ledger/ledger-context.ts'
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
    errorCodes: ['CREDENZIALI_MANCANTI'],
    summary: 'L’account della Polizia in uso',
    response: { 200: Ref(PoliceAccount), 503: Ref(ErrorBody) }
  }
} satisfies RouteShorthandOptions

const SET_ACCOUNT_POLIZIA = {
  config: { access: 'admin' },
  schema: {
    operationId: 'setAccountPolizia',
    errorCodes: ['CREDENZIALI_MANCANTI'],
    summary: 'Dice se l’account è usato solo da qui',
    body: PoliceAccountBody,
    response: { 200: Ref(PoliceAccount), 503: Ref(ErrorBody) }
  }
} satisfies RouteShorthandOptions

/** Routes to read and change the suspension of sending and the exclusive use of the police account. */
export const controlRoutes: FastifyPluginAsyncTypebox<{
  ledger: LedgerContext | null
  mode: PoliceAccount['modalita']
}> = async (app, { ledger, mode }) => {
  const { db } = app
  for (const schema of [SuspensionState, PoliceAccount]) app.addSchema(schema)

  app.get('/api/v1/invii/sospensione', GET_SOSPENSIONE, readSuspension)

  app.post('/api/v1/invii/sospensione', SET_SOSPENSIONE, async (request) => {
    const { sospeso, motivo } = request.body
    const chi = request.principal!.id
    const resuming = sospeso ? undefined : connected()
    await db.transaction(async (tx) => {
      await (sospeso ? suspendSending(tx, chi, motivo) : resumeSending(tx, chi))
      await app.audit.append(tx, { ...authorOf(request), action: 'sospensione', details: { sospeso } })
      // Resuming accepts the current chain as the true one. Update the noted head before the commit: otherwise the next
      // Send could suspend again.
      await resuming?.chainHead.update(tx).catch((err: unknown) => {
        throw err instanceof HeadFileError ? new CartellaNonScrivibile({ cause: err }) : err
      })
    })
    request.log.warn({ actor: chi, suspended: sospeso }, sospeso ? 'sending is suspended' : 'sending is resumed')
    // Send ready submissions now, not with the next sweep. The response does not wait for them.
    if (resuming) sweep(resuming).catch((err: unknown) => request.log.error({ err }, 'a sweep failed'))
    return readSuspension()
  })

  app.get('/api/v1/alloggiati/account', GET_ACCOUNT_POLIZIA, readAccount)

  app.put('/api/v1/alloggiati/account', SET_ACCOUNT_POLIZIA, async (request) => {
    await setExclusiveChannel(db, connected().service.account, request.body.canale_esclusivo)
    return readAccount()
  })

  function connected (): LedgerContext {
    if (ledger === null) throw new CredenzialiMancanti()
    return ledger
  }

  async function readSuspension (): Promise<SuspensionState> {
    const suspension = await currentSuspension(db)
    if (suspension === undefined) return { sospeso: false, motivo: null, chi: null, dal: null }
    return { sospeso: true, ...suspension, dal: new Date(suspension.dal).toISOString() }
  }

  async function readAccount (): Promise<PoliceAccount> {
    const canale_esclusivo = ledger !== null && (await readExclusiveChannel(db, ledger.service.account))
    return { utente: ledger?.service.utente ?? null, modalita: mode, canale_esclusivo }
  }
}
