import { response } from '#test/alloggiati/service/soap/server.ts'
import { successReply, loginReply, type Call, type StandIn } from '#test/alloggiati/stand-in.ts'
import type { Misbehaviour } from './table.ts'

export type Attacked = 'GenerateToken' | 'Test' | 'Send'

/** The operation before each operation of a submission. The first is the login. */
const BEFORE: Readonly<Record<Attacked, Attacked | undefined>> = {
  GenerateToken: undefined, Test: 'GenerateToken', Send: 'Test'
}

/** The rows of a Send that the police acquires. */
export const ACQUIRED: Readonly<Record<Misbehaviour['acquires'], (rows: readonly string[]) => readonly string[]>> = {
  all: (rows) => rows, first: (rows) => rows.slice(0, 1), none: () => []
}

/**
 * Makes the police misbehave at one operation of the next submission. Every submission begins with a login.
 * @param rows the number of rows of the submission
 */
export async function misbehave (
  police: StandIn,
  operation: Attacked,
  misbehaviour: Misbehaviour,
  rows: number
): Promise<void> {
  await behave(police)
  const { acquires, when, act } = misbehaviour
  const acting = act(operation, rows)
  if (when === undefined) {
    police.on[operation] = (socket, received) => {
      // Acquired rows are on the disk before the reply is sent.
      if (operation === 'Send') police.acquire(ACQUIRED[acquires]((received as Call).rows))
      acting(socket, received)
    }
    return
  }
  const start = EARLY_STARTS[when](police, operation, acting)
  const before = BEFORE[operation]
  if (before === undefined) return start()
  police.on[before] = (socket, received) => {
    start()
    response(before === 'GenerateToken' ? loginReply(0) : successReply(received as Call))(socket, received)
  }
}

/** Starts misbehaviours that happen before the request is complete. */
const EARLY_STARTS: Readonly<
  Record<
    NonNullable<Misbehaviour['when']>,
    (police: StandIn, operation: Attacked, acting: ReturnType<Misbehaviour['act']>) => () => void
  >
> = {
  refused: (police) => () => police.refuse(),
  connected: (police, _operation, acting) => () => {
    police.connection = (socket) => {
      acting(socket, { head: '', body: '' })
      return true
    }
  },
  'first-byte': (police, operation, acting) => () => {
    police.firstByte = async (begun, socket) => {
      if (begun !== operation) return
      acting(socket, { head: '', body: '' })
      throw new Error('the rest of the request is not read')
    }
  }
}

/** Resets the police to successful responses, and makes every submission begin with a login. */
export async function behave (police: StandIn): Promise<void> {
  delete police.connection
  delete police.firstByte
  police.on = { GenerateToken: response(loginReply(0)) }
  await police.stop()
  await police.start()
}
