import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { SqlResponse, SqlFailure, SqlQuery } from '#schemas/sql.ts'
import type { Config } from '#src/config/config.ts'
import { connectionCode, postgresError } from '#src/database/problems.ts'
import { TroppeRichieste } from '#src/lib/errors.ts'
import { type Keys, secretComparer } from '#src/lib/secrets.ts'
import { limitConcurrency } from '#src/lib/concurrency-limit.ts'
import { type Author, authorOf } from '#src/services/audit/log.ts'
import { SqlPasswordErrata, SqlSpento } from './errors.ts'
import { maskStatement, readWords } from './masked-statement.ts'
import { prepareRole, type SqlLogin } from './role.ts'
import { LoginRefused, runStatement } from './run.ts'

/** Maximum concurrent statements in this process. */
const CONCURRENCY = { total: 2, perCaller: 2 }
const MINUTE_MS = 60_000
/** Limits of wrong passwords, per caller and in total. */
const PER_CALLER = { name: 'sql/caller', max: 5, windowMs: 15 * MINUTE_MS }
const IN_TOTAL = { name: 'sql', max: 20, windowMs: 60 * MINUTE_MS }

const querySqlRoute = {
  config: { access: 'admin', recentFactor: true },
  schema: {
    operationId: 'querySql',
    errorCodes: ['SQL_SPENTO', 'PASSWORD_ERRATA', 'SQL_NON_VALIDO', 'SQL_RISPOSTA_TROPPO_GRANDE'],
    tags: ['Sistema'],
    summary: 'Esegue un’istruzione SQL con un ruolo che ha pochi permessi',
    body: SqlQuery,
    response: { 200: SqlResponse, 400: Type.Union([Ref(SqlFailure), Ref(ErrorBody)]) }
  }
} as const

/** Runs statements of an administrator with a database role that has few rights. */
const sqlRoutes: FastifyPluginAsyncTypebox<{ config: Config, keys: Keys }> = async (app, { config, keys }) => {
  const { db, audit } = app
  const isOn = config.QUERY_PASSWORD !== undefined
  const isPassword = secretComparer(config.QUERY_PASSWORD)
  const acquireSlot = limitConcurrency(CONCURRENCY)
  let login: SqlLogin | undefined
  let words: ReadonlySet<string> | undefined
  app.addHook('preValidation', async () => {
    if (!isOn) throw new SqlSpento('QUERY_PASSWORD non è impostata su questo server')
  })
  app.addSchema(SqlFailure)

  app.post('/api/querysql', querySqlRoute, async (request, reply) => {
    const { password, sql } = request.body
    const author = authorOf(request)
    const isRight = isPassword(password)
    const seconds = await checkAttempt(app, author, isRight)
    if (seconds > 0) {
      reply.header('retry-after', seconds)
      throw new TroppeRichieste(seconds)
    }
    if (!isRight) throw new SqlPasswordErrata()

    const release = await acquireSlot(author.actor)
    try {
      login ??= await prepare()
      await audit.append(db, { ...author, action: 'sql', details: await describe(sql) })
      const body = await run(sql)
      // Sent as JSON text, because the serializer would convert its numbers to doubles.
      return (reply as FastifyReply).type('application/json; charset=utf-8').send(body)
    } finally {
      release()
    }
  })

  async function prepare (): Promise<SqlLogin> {
    return await prepareRole(app.sql, keys.derive('sql-role').toString('base64url')).catch((err: unknown) => {
      throw new SqlSpento(`il suo ruolo nel database non può essere creato (${codeOf(err)})`)
    })
  }

  async function run (sql: string): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      login ??= await prepare()
      try {
        return await runStatement(app.sql, app.databaseUrl, login, sql)
      } catch (err) {
        if (!(err instanceof LoginRefused)) throw err
        login = undefined
        if (attempt === 2) throw new SqlSpento('il suo ruolo non può collegarsi al database')
      }
    }
  }

  /** The description of a statement in the audit log, without personal data. */
  async function describe (sql: string) {
    words ??= await readWords(app.sql)
    return {
      esito: 'accettata',
      istruzione: maskStatement(sql, words),
      impronta: keys.fingerprint('sql', sql).toString('hex'),
      caratteri: sql.length
    }
  }
}

export default sqlRoutes

/**
 * Counts one attempt at the password, and writes a wrong attempt to the audit log.
 * @returns the seconds to wait after too many wrong attempts, even with the right password. 0 within the limits
 */
async function checkAttempt (app: FastifyInstance, author: Author, isRight: boolean): Promise<number> {
  const limits = [[PER_CALLER, author.actor], [IN_TOTAL, '']] as const
  for (const [limit, subject] of limits) {
    const seconds = await app.countAttempt(limit, [subject], isRight ? 0 : 1)
    if (seconds > 0) return seconds
  }
  if (!isRight) await app.audit.append(app.db, { ...author, action: 'sql', details: { esito: 'password_errata' } })
  return 0
}

/** The code of a failure, which is safe to show. Its message may contain data. */
function codeOf (err: unknown): string {
  return postgresError(err)?.code ?? connectionCode(err) ?? 'errore interno'
}
