import { join } from 'node:path'
import { MISBEHAVIOURS } from '#test/alloggiati/misbehaviours/table.ts'
import { KEPT } from '#test/alloggiati/misbehaviours/police.ts'
import { oracle } from '#test/alloggiati/oracle.ts'
import { answer } from '#test/alloggiati/service/soap/server.ts'
import { good, openStandIn, type Call, type StandIn } from '#test/alloggiati/stand-in.ts'
import type { SeededRandom } from './seeded-random.ts'

/** The share of the calls with rows to which it misbehaves. */
const SHARE = 0.2
/** The share of misbehaviours that let the client wait. A few are enough, because they take up the time of the test. */
const SLOW_SHARE = 0.1

/**
 * A police that is never killed, misbehaves now and then, and takes a little time for its work, so that servers die
 * while it works.
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
        if (operation === 'Send') police.acquire(bad ? KEPT[bad.acquires](call.rows) : call.rows)
        const acting = bad?.act(operation, call.rows.length) ?? answer(good(call))
        setTimeout(() => { if (!socket.destroyed) acting(socket, received) }, random.integer(15))
      }, random.integer(15))
    }
  }
  return police
}
