import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { basename, dirname } from 'node:path'
import { desc, eq } from 'drizzle-orm'
import type { audit_log } from '#drizzle/tables/audit.ts'
import type { invii_transizioni } from '#drizzle/tables/alloggiati.ts'
import type { Executor } from './connect.ts'

/** A table whose rows are counted from 1 without a gap, each chained by its hash to the one before. */
export type Chain = typeof audit_log | typeof invii_transizioni

/** A row of a chain; the hash in hexadecimal. */
export interface Link { id: number, hash: string }

/**
 * The end of a chain, kept outside of the database: a chain cannot see the loss of its own tail. A database that does
 * not hold that link any more is older than its own history, or was cut.
 */
export interface Head {
  /** Whether the database still holds the last link that was seen. */
  holds (db: Executor): Promise<boolean>
  /** Notes the present end of the chain, durably. */
  advance (db: Executor): Promise<void>
}

export interface ChainHead extends Head {
  /** The last link that was seen. Read from the file once: later on only what this head itself has noted counts. */
  noted (): Promise<Link | undefined>
}

export function chainHead (file: string, chain: Chain): ChainHead {
  let last: Promise<Link | undefined> | undefined
  const noted = () => (last ??= read(file))

  return {
    noted,

    async holds (db) {
      const link = await noted()
      if (link === undefined) return true
      const [row] = await db.select({ hash: chain.hash }).from(chain).where(eq(chain.id, link.id))
      return row !== undefined && row.hash.toString('hex') === link.hash
    },

    async advance (db) {
      const [row] = await db.select({ id: chain.id, hash: chain.hash }).from(chain).orderBy(desc(chain.id)).limit(1)
      if (!row) {
        // An empty chain has no end: whoever goes on from it takes it for the true one.
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
  const link = parse(text)
  if (link === undefined) throw new Error(`${basename(file)} is not readable`)
  return link
}

function parse (text: string): Link | undefined {
  let link: unknown
  try {
    link = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof link !== 'object' || link === null || !('id' in link) || !('hash' in link)) return undefined
  const { id, hash } = link
  return typeof id === 'number' && Number.isSafeInteger(id) && typeof hash === 'string' ? { id, hash } : undefined
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
