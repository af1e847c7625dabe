import { join } from 'node:path'
import { MISBEHAVIOURS } from '#test/alloggiati/misbehaviours/table.ts'
import { ACQUIRED } from '#test/alloggiati/misbehaviours/police.ts'
import { oracle } from '#test/alloggiati/oracle.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { successReply, openStandIn, type Call, type StandIn } from '#test/alloggiati/stand-in.ts'
import type { SeededRandom } from './seeded-random.ts'

/** Fraction of Test and Send calls with a misbehaviour. */
const SHARE = 0.2
/** Fraction of misbehaviours that make the client wait. It is small, because they take test time. */
const SLOW_SHARE = 0.1

/**
 * A police service that is never killed, sometimes misbehaves, and responds late, so that kills happen during a call.
 */
export async function misbehavingPolice (folder: string, random: SeededRandom): Promise<StandIn> {
  const police = await openStandIn(oracle(join(folder, 'acquired')))
  const able = MISBEHAVIOURS.filter(({ when }) => when === undefined)
  const slow = able.filter((each) => each.slow)
  const quick = able.filter((each) => !each.slow)
  for (const operation of ['GenerateToken', 'Test', 'Send']) {
    police.on[operation] = (socket, received) => {
      const call = received as Call
      const bad =
        operation !== 'GenerateToken' && random.fraction() < SHARE
          ? random.pick(random.fraction() < SLOW_SHARE ? slow : quick)
          : undefined
      setTimeout(() => {
        if (operation === 'Send') police.acquire(bad ? ACQUIRED[bad.acquires](call.rows) : call.rows)
        const acting = bad?.act(operation, call.rows.length) ?? response(successReply(call))
        setTimeout(() => { if (!socket.destroyed) acting(socket, received) }, random.integer(15))
      }, random.integer(15))
    }
  }
  return police
}
