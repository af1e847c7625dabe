import { readFile, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { desc, eq } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import { ignoring } from '#src/lib/ignoring.ts'
import { writeAtomically } from '#src/lib/write-atomically.ts'
import type { Executor } from './connect.ts'

/** A table of numbered rows, from 1 without gaps. Each row contains a hash that depends on the row before it. */
type Chain = AnyPgTable & {
  id: AnyPgColumn<{ data: number, notNull: true }>
  hash: AnyPgColumn<{ data: Buffer, notNull: true }>
}

/** A row of a chain. The hash is hexadecimal. */
export interface Link { id: number, hash: string }

/** Ids have PostgreSQL's type `integer`. A query for a larger number fails. */
const MAX_ID = 2 ** 31 - 1

/** The file of a chain head cannot be read or written, or its content is invalid. */
export class HeadFileError extends Error {}

/**
 * Notes the last row of a chain in a file outside the database, because a chain cannot detect the loss of its last
 * rows. If the database lacks that row, it was truncated or restored from an older copy.
 */
export interface ChainHead {
  /**
   * The last noted row. Undefined if no row was noted.
   * @throws HeadFileError
   */
  last (): Promise<Link | undefined>
  /** Whether the database still has a noted row. True if no row was noted. */
  has (db: Executor, noted: Link | undefined): Promise<boolean>
  /**
   * Whether the database still has the last noted row.
   * @throws HeadFileError if the file is unreadable
   */
  isIn (db: Executor): Promise<boolean>
  /** The current last row of the chain. Undefined if the chain is empty. */
  end (db: Executor): Promise<Link | undefined>
  /**
   * Notes the last row durably, or deletes the file of an empty chain. A later noted row that the database has is kept,
   * unless two processes note at the same time.
   * @throws HeadFileError
   */
  note (db: Executor, end: Link | undefined): Promise<void>
  /**
   * Notes the current last row.
   * @throws HeadFileError
   */
  update (db: Executor): Promise<void>
}

/**
 * The file is read each time, because another process with the same folder may have noted a later row. Statements are
 * prepared, because a Send waits for them. A prepared statement takes one round trip and no planning.
 *
 * This process notes rows in order, so that an earlier row never replaces a later one. Two processes with a common
 * folder may note at the same time. Then the earlier row may stay until the next note.
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
    // For an empty chain the file is deleted. Otherwise its first row would be reported as a chain that lost rows.
    const writing = link ? writeAtomically(file, JSON.stringify(link)) : rm(file, { force: true })
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

async function read (file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8').catch(ignoring('ENOENT'))
  } catch (err) {
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
