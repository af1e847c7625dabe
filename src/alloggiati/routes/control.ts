import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Ref } from '#schemas/common.ts'
import { HoldBody, HoldState, PoliceAccount, PoliceAccountBody } from '#schemas/invio.ts'
import { authorOf } from '#src/plugins/audit/log.ts'
import { CredenzialiMancanti } from '../errors.ts'
import { isExclusive, setExclusive } from '../ledger/account.ts'
import type { LedgerContext } from '../ledger/context.ts'
import { openHold, resumeSending, stopSending } from '../ledger/hold.ts'

const tags = ['Alloggiati Web']

/**
 * What an administrator sets: whether anything is sent at all, and what the ledger may take for granted of the account.
 */
export const controlRoutes: FastifyPluginAsyncTypebox<{
  ledger: LedgerContext | null
  mode: PoliceAccount['modalita']
}> = async (app, { ledger, mode }) => {
  const { db } = app

  app.route({
    method: 'GET',
    url: '/api/v1/invii/sospensione',
    config: { access: 'auth' },
    schema: {
      operationId: 'getSospensione',
      tags,
      summary: 'Se gli invii sono sospesi, da chi e perché',
      response: { 200: Ref(HoldState) }
    },
    handler: hold
  })

  app.route({
    method: 'POST',
    url: '/api/v1/invii/sospensione',
    config: { access: 'admin' },
    schema: {
      operationId: 'setSospensione',
      tags,
      summary: 'Sospende o riprende tutti gli invii',
      body: HoldBody,
      response: { 200: Ref(HoldState) }
    },
    handler: async (request) => {
      const { sospeso, motivo } = request.body
      const chi = request.principal!.id
      const head = sospeso ? undefined : working().head
      await db.transaction(async (tx) => {
        await (sospeso ? stopSending(tx, chi, motivo) : resumeSending(tx, chi))
        await app.audit.append(tx, { ...authorOf(request), action: 'sospensione', details: { sospeso } })
        // Whoever lets sending go on takes the chain as it is now for the true one; before the commit, or the next Send
        // would stop it again.
        await head?.update(tx)
      })
      request.log.warn({ chi, sospeso }, sospeso ? 'sending is stopped' : 'sending goes on')
      return hold()
    }
  })

  app.route({
    method: 'GET',
    url: '/api/v1/alloggiati/account',
    config: { access: 'auth' },
    schema: {
      operationId: 'getAccountPolizia',
      tags,
      summary: "L'account della Polizia in uso",
      response: { 200: Ref(PoliceAccount) }
    },
    handler: account
  })

  app.route({
    method: 'PUT',
    url: '/api/v1/alloggiati/account',
    config: { access: 'admin' },
    schema: {
      operationId: 'setAccountPolizia',
      tags,
      summary: "Dice se l'account è usato solo da qui",
      body: PoliceAccountBody,
      response: { 200: Ref(PoliceAccount) }
    },
    handler: async (request) => {
      await setExclusive(db, working().service.account, request.body.canale_esclusivo)
      return account()
    }
  })

  function working (): LedgerContext {
    if (ledger === null) throw new CredenzialiMancanti()
    return ledger
  }

  async function hold (): Promise<HoldState> {
    const open = await openHold(db)
    if (open === undefined) return { sospeso: false, motivo: null, chi: null, dal: null }
    return { sospeso: true, ...open, dal: new Date(open.dal).toISOString() }
  }

  async function account (): Promise<PoliceAccount> {
    const canale_esclusivo = ledger !== null && (await isExclusive(db, ledger.service.account))
    return { utente: ledger?.service.utente ?? null, modalita: mode, canale_esclusivo }
  }
}
