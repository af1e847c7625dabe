import { is, Param, Placeholder, sql, type Query } from 'drizzle-orm'
import type { PendingQuery, Row } from 'postgres'
import type { Database } from './connect.ts'

/** Values by the names of the placeholders. */
type Values = Readonly<Record<string, unknown>>

/** Maximum kept statements. Each takes about 50 KB in every connection's process of PostgreSQL. */
const KEPT_MAX = 200

interface Statement { text: string, parameters: (values: Values) => unknown[] }

/**
 * Runs statements that Drizzle builds once per key, because building takes a fifth of a request's processor time.
 * PostgreSQL prepares each of them once per connection. A client can send thousands of combinations of filters. So only
 * the first `KEPT_MAX` are kept, and the others are built each time.
 */
export function keptStatements () {
  const statements = new Map<string, Statement>()

  return function run<T extends Row[]> (
    { $client: driver }: Database, key: string, values: Values, build: () => { toSQL (): Query }
  ): PendingQuery<T> {
    const statement = statements.get(key) ?? statementOf(build().toSQL())
    if (statements.size < KEPT_MAX) statements.set(key, statement)
    return driver.unsafe<T>(statement.text, statement.parameters(values) as string[], { prepare: statements.has(key) })
  }
}

/** Placeholders by their names. */
export function placeholders (names: readonly string[]): Record<string, Placeholder> {
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)]))
}

function statementOf ({ sql: text, params }: Query): Statement {
  // A parameter of an insert contains the placeholder.
  const parts = params.map((part) => is(part, Param) ? part.value : part)
  return { text, parameters: (values) => parts.map((part) => is(part, Placeholder) ? values[part.name] : part) }
}
