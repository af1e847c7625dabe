import { readFile, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { desc, eq } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import { writeWhole } from '#src/lib/whole-file.ts'
import type { Executor } from './connect.ts'

/** A table whose rows are counted from 1 without a gap, each chained by its hash to the one before. */
export type Chain = AnyPgTable & {
  id: AnyPgColumn<{ data: number, notNull: true }>
  hash: AnyPgColumn<{ data: Buffer, notNull: true }>
}

/** A row of a chain; the hash in hexadecimal. */
export interface Link { id: number, hash: string }

/** The ids are of PostgreSQL's type `integer`: a query for a higher one is an error. */
const MAX_ID = 2 ** 31 - 1

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
 *
 * The notes of one head are written in order, so that an earlier link never replaces a later one. Processes with one
 * folder are not ordered: when two note at the same instant, the earlier link may stay until one of them notes again.
 */
export function chainHead (file: string, chain: Chain): ChainHead {
  const name = basename(file)
  let notes: Promise<unknown> = Promise.resolve()

  async function last (): Promise<Link | undefined> {
    const text = await read(file)
    if (text === undefined) return undefined
    const noted = parse(text)
    if (!noted) throw new HeadFileError(`${name} is not readable`)
    return noted
  }

  async function has (db: Executor, noted: Link | undefined): Promise<boolean> {
    if (noted === undefined) return true
    const [row] = await db.select({ hash: chain.hash }).from(chain).where(eq(chain.id, noted.id))
      .prepare('chain_link').execute()
    return row?.hash.toString('hex') === noted.hash
  }

  async function end (db: Executor): Promise<Link | undefined> {
    const [row] = await db.select({ id: chain.id, hash: chain.hash }).from(chain).orderBy(desc(chain.id)).limit(1)
      .prepare('chain_end').execute()
    return row && { id: row.id, hash: row.hash.toString('hex') }
  }

  function note (db: Executor, link: Link | undefined): Promise<void> {
    const noted = notes.then(() => noteNext(db, link))
    notes = noted.catch(() => {})
    return noted
  }

  async function noteNext (db: Executor, link: Link | undefined): Promise<void> {
    const noted = link && await last().catch(() => undefined)
    if (noted && noted.id >= link.id && await has(db, noted)) return
    // An empty chain has no last link: the process that writes the next row takes this chain for the true one.
    const writing = link ? writeWhole(file, JSON.stringify(link)) : rm(file, { force: true })
    await writing.catch((cause: unknown) => { throw new HeadFileError(`${name} cannot be written`, { cause }) })
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

/** The text of the file; undefined: there is none. */
async function read (file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (err) {
    if (err instanceof Error && 'code' in err && err.code === 'ENOENT') return undefined
    throw new HeadFileError(`${basename(file)} cannot be read`, { cause: err })
  }
}

function parse (text: string): Link | undefined {
  try {
    const { id, hash } = JSON.parse(text) as Record<string, unknown>
    const isId = typeof id === 'number' && Number.isInteger(id) && id >= 1 && id <= MAX_ID
    return isId && typeof hash === 'string' ? { id, hash } : undefined
  } catch {
    return undefined
  }
}
