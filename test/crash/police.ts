import { join } from 'node:path'
import { MISBEHAVIOURS } from '#test/alloggiati/misbehaviours/table.ts'
import { KEPT } from '#test/alloggiati/misbehaviours/police.ts'
import { oracle } from '#test/alloggiati/oracle.ts'
import { answer } from '#test/alloggiati/service/soap/server.ts'
import { good, openStandIn, type Call, type StandIn } from '#test/alloggiati/stand-in.ts'
import type { Chance } from './chance.ts'

/** How often it misbehaves, of the calls on rows. */
const SHARE = 0.2
/** Those that let the client wait would fill the time with waiting: a few of them are enough. */
const SLOW_SHARE = 0.1

/**
 * A police that outlives everything, misbehaves now and then, and takes a little time over its work: then there is
 * something to be killed in.
 */
export async function moodyPolice (folder: string, chance: Chance): Promise<StandIn> {
  const police = await openStandIn(oracle(join(folder, 'acquired')))
  const able = MISBEHAVIOURS.filter(({ when }) => when === undefined)
  const slow = able.filter((each) => each.slow)
  const quick = able.filter((each) => !each.slow)
  for (const operation of ['GenerateToken', 'Test', 'Send']) {
    police.on[operation] = (socket, received) => {
      const call = received as Call
      const bad =
        operation !== 'GenerateToken' && chance.number() < SHARE
          ? chance.one(chance.number() < SLOW_SHARE ? slow : quick)
          : undefined
      setTimeout(() => {
        if (operation === 'Send') police.acquire(bad ? KEPT[bad.acquires](call.rows) : call.rows)
        const acting = bad?.act(operation, call.rows.length) ?? answer(good(call))
        setTimeout(() => { if (!socket.destroyed) acting(socket, received) }, chance.whole(15))
      }, chance.whole(15))
    }
  }
  return police
}
