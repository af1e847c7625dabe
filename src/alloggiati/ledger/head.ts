import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { desc, eq } from 'drizzle-orm'
import { invii_transizioni as transitions } from '#drizzle/tables/index.ts'
import type { Executor } from '#src/plugins/database/connect.ts'

/** The end of the chain of transitions as this process last saw it. */
interface Link { id: number, hash: string }

/**
 * The end of the ledger's chain, kept outside of the database. A database that does not hold that link any more is older than
 * its own history: a backup was restored, and what it does not know may have been sent.
 */
export interface Head {
  /** Whether the database still holds the last link that was seen. */
  holds (db: Executor): Promise<boolean>
  /** Notes the present end of the chain, durably. */
  advance (db: Executor): Promise<void>
}

export function ledgerHead (dataDir: string): Head {
  const file = join(dataDir, 'ledger.head')
  let last: Promise<Link | undefined> | undefined

  return {
    async holds (db) {
      const link = await (last ??= read(file))
      if (link === undefined) return true
      const [row] = await db.select({ hash: transitions.hash }).from(transitions).where(eq(transitions.id, link.id))
      return row !== undefined && row.hash.toString('hex') === link.hash
    },

    async advance (db) {
      const [row] = await db.select({ id: transitions.id, hash: transitions.hash }).from(transitions).orderBy(desc(transitions.id)).limit(1)
      if (!row) {
        // An empty chain has no end: whoever lets sending go on takes it for the true one.
        await rm(file, { force: true })
        last = Promise.resolve(undefined)
        return
      }
      const link = { id: row.id, hash: row.hash.toString('hex') }
      await write(file, JSON.stringify(link))
      last = Promise.resolve(link)
    }
  }
}

async function read (file: string): Promise<Link | undefined> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (err) {
    if (err instanceof Error && 'code' in err && err.code === 'ENOENT') return undefined
    throw err
  }
  const link: unknown = JSON.parse(text)
  if (typeof link !== 'object' || link === null || !('id' in link) || !('hash' in link)) throw new Error('ledger.head is not readable')
  return { id: Number(link.id), hash: String(link.hash) }
}

/** Whole or not at all, and on the disk before it returns. */
async function write (file: string, text: string): Promise<void> {
  // The folder may not be there yet: with a database elsewhere nothing else is kept in it.
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${randomUUID()}`
  const handle = await open(temporary, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(temporary, file)
}
