import type postgres from 'postgres'

/** Maximum characters of a statement that the audit log stores. */
const KEPT = 500

const WORDS = /\w+(?:\.\d+)?/g
/** An alias of a table, e.g. `b` or `g2`. It is kept although the database does not know it. */
const ALIAS = /^[a-z]\d?$/i

/**
 * Masks personal data in a statement for the audit log. Strings become `?`, and comments are left out. Each other word
 * that the database does not know also becomes `?`, because the quotes of a string may be missing.
 * @param known the words of {@link readWords}
 */
export function maskStatement (statement: string, known: ReadonlySet<string>): string {
  const masked = statement
    .replace(/--.*|\/\*[^]*?(?:\*\/|$)/g, ' ')
    .replace(/'[^']*(?:'|$)|\$(\w*)\$[^]*?(?:\$\1\$|$)|[^\0-\x7f]+/g, '?')
    .replace(WORDS, (word) => ALIAS.test(word) || known.has(word.toLowerCase()) ? word : '?')
    .replace(/\s+/g, ' ').trim()
  return masked.length > KEPT ? `${masked.slice(0, KEPT)}…` : masked
}

/** The keywords of SQL, the names of all tables and columns, and those of PostgreSQL's own functions and types. */
export async function readWords (sql: postgres.Sql): Promise<ReadonlySet<string>> {
  const rows = await sql<{ word: string }[]>`
    with relations as (select oid, relname from pg_class
      where relnamespace in ('pg_catalog'::regnamespace, current_schema()::regnamespace))
    select word from pg_get_keywords()
    union select relname from relations
    union select attname from pg_attribute join relations on oid = attrelid
    union select proname from pg_proc where pronamespace = 'pg_catalog'::regnamespace
    union select typname from pg_type where typnamespace = 'pg_catalog'::regnamespace`
  return new Set(rows.map(({ word }) => word))
}
