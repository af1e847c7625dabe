import type { FastifyInstance } from 'fastify'
import type { Keys } from '#src/lib/secrets.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { SqlSpento } from './errors.ts'
import { codeOf, prepareRole, removeRole, type RoleState, type SqlLogin } from './role.ts'
import { LoginRefused, runStatement } from './run.ts'

/** Statements at once in this process. */
const AT_ONCE = 2

export interface SqlConsole {
  /** At the start: makes the role, or says in the log why there is none. It never fails. */
  open (): Promise<void>
  /** At the start without a password: takes the role away. It never fails. */
  close (): Promise<void>
  /**
   * Runs a statement; `beforeRun` when nothing but the statement is left to do.
   * @returns the body of the answer
   * @throws ServizioOccupato when too many statements run; SqlSpento; what `beforeRun` and `runStatement` throw
   */
  run (statement: string, beforeRun: () => Promise<void>, callerGone: AbortSignal): Promise<string>
}

/** The SQL console of one process. */
export function sqlConsole ({ sql, log }: Pick<FastifyInstance, 'sql' | 'log'>, keys: Keys): SqlConsole {
  let running = 0

  async function login (anew: boolean): Promise<SqlLogin> {
    const state = await prepareRole(sql, keys, anew)
    if ('off' in state) throw new SqlSpento(state.off)
    return state.login
  }

  /** The role may have changed its own password, or another process with another master key may have. */
  async function runAnew (statement: string, callerGone: AbortSignal): Promise<string> {
    try {
      return await runStatement(sql, await login(true), statement, callerGone)
    } catch (err) {
      throw err instanceof LoginRefused ? new SqlSpento(noLogin(err.code)) : err
    }
  }

  return {
    async open () {
      const state = await tryRole(sql, keys)
      if ('off' in state) log.warn({ reason: state.off }, 'the SQL console stays off')
    },

    async close () {
      const isGone = await removeRole(sql).catch(() => false)
      if (!isGone) log.warn('the role of the SQL console could not be removed')
    },

    async run (statement, beforeRun, callerGone) {
      if (running >= AT_ONCE) throw new ServizioOccupato()
      running++
      try {
        const known = await login(false)
        await beforeRun()
        return await runStatement(sql, known, statement, callerGone).catch((err: unknown) => {
          if (err instanceof LoginRefused) return runAnew(statement, callerGone)
          throw err
        })
      } finally {
        running--
      }
    }
  }
}

async function tryRole (sql: FastifyInstance['sql'], keys: Keys): Promise<RoleState> {
  try {
    const state = await prepareRole(sql, keys, true)
    if ('login' in state) await runStatement(sql, state.login, 'select 1', new AbortController().signal)
    return state
  } catch (err) {
    return { off: err instanceof LoginRefused ? noLogin(err.code) : `il database ha un problema (${codeOf(err)})` }
  }
}

const noLogin = (code: string) => `il suo ruolo non può collegarsi al database (${code})`
