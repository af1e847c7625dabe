import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { LOCKS } from '#src/plugins/database/locks.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

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

t.test('the lock that migrations take has the number that the table of locks names', async (t) => {
  t.same([...new Set(locksIn('drizzle/migrations', '.sql').map(Number))], [LOCKS.ledgerChain])
})

t.test('every lock that the code takes is one of the table, and each one of the table is taken', async (t) => {
  const taken = new Set(locksIn('src', '.ts'))
  t.same([...taken].sort(), Object.keys(LOCKS).map((name) => `LOCKS.${name}`).sort())
})
