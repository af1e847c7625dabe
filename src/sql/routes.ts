import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { SqlAnswer, SqlFailure, SqlQuery } from '#schemas/sql.ts'
import type { Config } from '#src/config/config.ts'
import { TroppeRichieste } from '#src/lib/errors.ts'
import { secretComparer, type Keys } from '#src/lib/secrets.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { SqlPasswordErrata, SqlSpento } from './errors.ts'
import { sqlConsole } from './console.ts'
import { maskConstants } from './mask.ts'
import { judgeTry } from './tries.ts'

/** Statements of an administrator, run by a role of the database that can do little. */
const sqlRoutes: FastifyPluginAsyncTypebox<{ config: Config, keys: Keys }> = async (app, { config, keys }) => {
  const { db, audit } = app
  const isOn = config.QUERY_PASSWORD !== undefined
  const isPassword = secretComparer(config.QUERY_PASSWORD)
  const console = sqlConsole({ log: app.log, sql: app.sql }, keys)
  await (isOn ? console.open() : console.close())
  app.addSchema(SqlFailure)

  app.route({
    method: 'POST',
    url: '/api/querysql',
    config: { access: 'admin', recentFactor: true },
    schema: {
      operationId: 'querySql',
      errorCodes: ['SQL_SPENTO', 'PASSWORD_ERRATA', 'SQL_NON_VALIDO', 'SQL_RISPOSTA_TROPPO_GRANDE'],
      tags: ['Sistema'],
      summary: 'Esegue un’istruzione SQL con un ruolo che può poco',
      body: SqlQuery,
      response: { 200: SqlAnswer, 400: Type.Union([Ref(SqlFailure), Ref(ErrorBody)]) }
    },
    preValidation: async () => {
      if (!isOn) throw new SqlSpento('QUERY_PASSWORD non è impostata su questo server')
    },
    handler: async (request, reply) => {
      const { password, sql } = request.body
      const author = authorOf(request)
      const isRight = isPassword(password)
      const seconds = await judgeTry(app, author, isRight)
      if (seconds > 0) {
        reply.header('retry-after', seconds)
        throw new TroppeRichieste(seconds)
      }
      if (!isRight) throw new SqlPasswordErrata()

      const callerGone = new AbortController()
      reply.raw.once('close', () => callerGone.abort())
      const record = () => audit.append(db, { ...author, action: 'sql', details: described(sql) })
      const body = await console.run(sql, record, callerGone.signal)
      return sendJson(reply, body)
    }
  })

  /** A statement in the audit log, which holds no personal data. */
  function described (sql: string) {
    return {
      esito: 'accettata',
      istruzione: maskConstants(sql),
      impronta: keys.fingerprint('sql', sql).toString('hex'),
      caratteri: sql.length
    }
  }
}

/** JSON text is sent as it is. */
function sendJson (reply: FastifyReply, json: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json)
}
export default sqlRoutes
