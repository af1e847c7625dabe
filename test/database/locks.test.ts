import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { LOCKS } from '#src/database/locks.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The first argument of every call of an advisory lock in the files of a folder. */
function locksIn (folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'))
    .flatMap((text) => [...text.matchAll(/pg_(?:try_)?advisory\w*\(([^,):]+)/g)])
    .map(([, argument]) => /LOCKS\.\w+/.exec(argument!)?.[0] ?? argument!)
}

t.test('no two advisory locks have the same number', async (t) => {
  t.equal(new Set(Object.values(LOCKS)).size, Object.values(LOCKS).length)
})

/** Functions of the database take these; the code may take them too. */
const OF_MIGRATIONS = ['ledgerChain', 'eventWake'] as const

t.test('the locks that migrations take have the numbers that the table of locks names', async (t) => {
  const taken = new Set(locksIn('drizzle/migrations', '.sql').map(Number))
  t.same([...taken].sort(), OF_MIGRATIONS.map((name) => LOCKS[name]).sort())
})

t.test('every lock that the code takes is one of the table, and each one of the table is taken', async (t) => {
  const taken = new Set([...locksIn('src', '.ts'), ...OF_MIGRATIONS.map((name) => `LOCKS.${name}`)])
  t.same([...taken].sort(), Object.keys(LOCKS).map((name) => `LOCKS.${name}`).sort())
})
