import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import type { InvioDetail } from '#schemas/invio.ts'
import type { Schedina } from '#schemas/schedina.ts'
import { guestNo, invio, production, standIn, type StandIn } from '#test/alloggiati/stand-in.ts'
import type { TestApp } from '#test/helper.ts'

/* The actions of an administrator on the ledger. */

export const INVII = '/api/v1/invii'

/** A production server, its police stand-in, and an administrator's calls. */
export async function ledgerServer (t: Test, environ: Record<string, string> = {}) {
  const police = await standIn(t)
  const server = await production(t, police, environ)
  return { police, server, ...administrator(server) }
}

export function administrator (server: TestApp, name = 'amministratore-1') {
  const token = server.token({ name, role: 'admin' })
  const call = async (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    body?: object
  ): Promise<LightMyRequestResponse> =>
    await server.app.inject({
      method,
      url,
      headers: { authorization: `Bearer ${await token}` },
      ...(body === undefined ? {} : { payload: body })
    })
  return {
    admin: call,
    /** The administrator's name in the ledger. */
    who: async () => `user:${JSON.parse(Buffer.from((await token).split('.')[1]!, 'base64url').toString()).sub}`,
    /** Decides on the current version of a submission with the right phrase. `changes` override the body. */
    async decide (id: number, decisione: string, changes: object = {}): Promise<LightMyRequestResponse> {
      const { versione, numero_schedine, data_arrivo } = await detail(server, id)
      const conferma = `${numero_schedine} ${numero_schedine === 1 ? 'ospite' : 'ospiti'} ${data_arrivo}`
      const protocollo = decisione === 'depositato' ? { protocollo: 'PEC 2026/4711' } : {}
      return call('POST', `${INVII}/${id}/decisione`, {
        decisione, motivo: 'Guardato sul portale', versione, conferma, ...protocollo, ...changes
      })
    }
  }
}

export async function detail ({ call }: TestApp, id: number): Promise<InvioDetail> {
  const response = await call('GET', `${INVII}/${id}`)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json<{ data: InvioDetail }>().data
}

/** Sends guests and returns the id of the submission. */
export async function sent (server: TestApp, guests: readonly Schedina[] = [guestNo(1)]): Promise<number> {
  await server.call('POST', '/api/alloggiati/invio', invio(guests))
  const [{ id } = { id: 0 }] = await server.app.sql<{ id: number }[]>`select max(id) as id from invii`
  return id
}

/** Sends guests, loses the reply and lets the delivery deadline pass. Returns the id of the submission. */
export async function unknown (police: StandIn, server: TestApp, guests?: readonly Schedina[]): Promise<number> {
  police.on.Send = (socket) => socket.resetAndDestroy()
  const id = await sent(server, guests)
  delete police.on.Send
  await deliveryOver(server)
  return id
}

/** Sets the delivery deadline of every attempt to its dispatch time, so that none can still be delivered. */
export async function deliveryOver ({ app }: Pick<TestApp, 'app'>): Promise<void> {
  await app.sql.unsafe(`
    alter table invii_tentativi disable trigger user;
    update invii_tentativi set consegna_entro = inviato_il;
    alter table invii_tentativi enable trigger user`)
}
