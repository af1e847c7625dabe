import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type postgres from 'postgres'

/** The channel on which the database's triggers say whose standing has changed. */
const CHANNEL = 'locanda_identity'
const PATIENCE_MS = 500

export type Change = 'user' | 'session' | 'key' | 'signing'

/** What other processes, and the database itself, change in who may come in. */
export interface Changes {
  /** Listening: what is remembered from now on will be contradicted when it changes. */
  ready (): Promise<boolean>
  /** Resolves when every change committed so far has come round, to this process as to the others. */
  settled (): Promise<void>
}

/**
 * Listens to the changes of users, sessions and keys, from the first question on.
 * @param onChange one of them changed
 * @param onGap some may have been missed
 */
export function listenToChanges (
  sql: postgres.Sql, log: FastifyBaseLogger, onChange: (change: Change, id: string) => void, onGap: () => void
): Changes {
  const waiting = new Map<string, () => void>()
  let listening: Promise<boolean> | undefined

  function heard (payload: string) {
    const [change = '', id = ''] = payload.split(':')
    if (change === 'sync') waiting.get(id)?.()
    else onChange(change as Change, id)
  }

  const ready = () => {
    listening ??= sql.listen(CHANNEL, heard, onGap).then(() => true, (err: unknown) => {
      log.error({ err }, 'changes of identity are not heard: nothing is remembered')
      // The next one tries again.
      listening = undefined
      return false
    })
    return listening
  }

  return {
    ready,
    async settled () {
      onGap()
      if (listening === undefined || !await listening) return
      const id = randomUUID()
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.set(id, resolve)
      const deadline = setTimeout(resolve, PATIENCE_MS)
      try {
        await sql`select pg_notify(${CHANNEL}, ${`sync:${id}`})`
        await promise
      } finally {
        clearTimeout(deadline)
        waiting.delete(id)
      }
    }
  }
}
