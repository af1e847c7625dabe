import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { basename, dirname } from 'node:path'
import { desc, eq } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import type { Executor } from './connect.ts'

/** A table whose rows are counted from 1 without a gap, each chained by its hash to the one before. */
export type Chain = AnyPgTable & {
  id: AnyPgColumn<{ data: number, notNull: true }>
  hash: AnyPgColumn<{ data: Buffer, notNull: true }>
}

/** A row of a chain; the hash in hexadecimal. */
export interface Link { id: number, hash: string }

/** The file of a chain's end cannot be read, or not be written: the cause says why. */
export class HeadFileError extends Error {}

/**
 * The last link of a chain as a file outside of the database notes it: a chain cannot see the loss of its own end. A
 * database that has no such link any more was cut, or is an older copy that was restored.
 */
export interface ChainHead {
  /**
   * The last link that was noted; undefined: none.
   * @throws HeadFileError
   */
  last (): Promise<Link | undefined>
  /** Whether the database still has a link that was noted. */
  has (db: Executor, noted: Link | undefined): Promise<boolean>
  /**
   * Whether the database still has the last link that was noted.
   * @throws HeadFileError when it cannot be told
   */
  isIn (db: Executor): Promise<boolean>
  /** The present last link of the chain; undefined: it is empty. */
  end (db: Executor): Promise<Link | undefined>
  /**
   * Notes a last link of the chain, durably; a later one that another process has noted stays.
   * @throws HeadFileError
   */
  note (db: Executor, end: Link | undefined): Promise<void>
  /**
   * Notes the present last link.
   * @throws HeadFileError
   */
  update (db: Executor): Promise<void>
}

/**
 * The file is read every time: another process with the same folder may have noted a later link. The statements are
 * prepared, because a Send waits for them: one round trip each instead of two, and no planning.
 */
export function chainHead (file: string, chain: Chain): ChainHead {
  const last = () => read(file)

  async function has (db: Executor, noted: Link | undefined): Promise<boolean> {
    if (noted === undefined) return true
    const [row] = await db.select({ hash: chain.hash }).from(chain).where(eq(chain.id, noted.id))
      .prepare('chain_link').execute()
    return row !== undefined && row.hash.toString('hex') === noted.hash
  }

  async function end (db: Executor): Promise<Link | undefined> {
    const [row] = await db.select({ id: chain.id, hash: chain.hash }).from(chain).orderBy(desc(chain.id)).limit(1)
      .prepare('chain_end').execute()
    return row && { id: row.id, hash: row.hash.toString('hex') }
  }

  async function note (db: Executor, link: Link | undefined): Promise<void> {
    if (!link) {
      // An empty chain has no last link: the process that writes the next row takes this chain for the true one.
      await written(file, rm(file, { force: true }))
      return
    }
    const noted = await last().catch(() => undefined)
    if (noted && noted.id >= link.id && await has(db, noted)) return
    await written(file, write(file, JSON.stringify(link)))
  }

  return {
    last,
    has,
    end,
    note,
    isIn: async (db) => has(db, await last()),
    update: async (db) => note(db, await end(db))
  }
}

async function read (file: string): Promise<Link | undefined> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (err) {
    if (isAbsent(err)) return undefined
    throw new HeadFileError(`${basename(file)} cannot be read`, { cause: err })
  }
  const link = parse(text)
  if (link === undefined) throw new HeadFileError(`${basename(file)} is not readable`)
  return link
}

function isAbsent (err: unknown): boolean {
  return err instanceof Error && 'code' in err && err.code === 'ENOENT'
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

async function written (file: string, work: Promise<void>): Promise<void> {
  await work.catch((cause: unknown) => { throw new HeadFileError(`${basename(file)} cannot be written`, { cause }) })
}

/** Whole or not at all, and on the disk before it returns. */
async function write (file: string, text: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}`
  const handle = await open(temporary, 'w', 0o600).catch(async (err: unknown) => {
    if (!isAbsent(err)) throw err
    // The folder may not be there yet: with a database elsewhere nothing else is kept in it.
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    return open(temporary, 'w', 0o600)
  })
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(temporary, file)
}
