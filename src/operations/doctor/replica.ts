import type postgres from 'postgres'
import type { Config } from '#src/config/config.ts'
import { connect } from '#src/plugins/database/connect.ts'
import { primaryStanding, replicaStanding, strangeness } from '#src/plugins/database/replica.ts'
import { codeOf, fault, ok, type Look } from './finding.ts'

/** The replica that lists are read at. It may be away: then the primary is read. */
export function replica (sql: postgres.Sql, { DATABASE_READ_URL: url }: Config): Look {
  return async () => {
    if (url === undefined) return undefined
    const { sql: there, close } = connect(url, 1)
    try {
      const primary = await primaryStanding(sql)
      const standing = await replicaStanding(there)
      const strange = strangeness(primary, standing)
      return strange === undefined
        ? ok(`è in linea, indietro di ${Math.max(0, primary.position - standing.position)} byte`)
        : fault(`DATABASE_READ_URL ${strange}: si legge dal primario`)
    } catch (err) {
      return fault(`DATABASE_READ_URL non risponde (${codeOf(err)}): si legge dal primario`)
    } finally {
      await close()
    }
  }
}
