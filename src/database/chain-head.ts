import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { desc, eq } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import { secretComparer, type Keys } from '#src/lib/secrets.ts'
import { writeWhole } from '#src/lib/whole-file.ts'
import type { Executor } from './connect.ts'

/** A table whose rows are counted from 1 without a gap, each chained by its hash to the one before. */
export type Chain = AnyPgTable & {
  id: AnyPgColumn<{ data: number, notNull: true }>
  hash: AnyPgColumn<{ data: Buffer, notNull: true }>
}

/** A row of a chain; the hash in hexadecimal. */
export interface Link { id: number, hash: string }

/** A link as the file has it. */
interface Note extends Link { mac: unknown }

/** The ids are of PostgreSQL's type `integer`: no row has a higher one, and to ask for it is an error. */
const MAX_ID = 2 ** 31 - 1

/** A temporary file of that age was left by a process that was killed: a note takes milliseconds. */
const LEFT_MS = 10 * 60_000
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

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
   * Notes the present last link, and takes away what a killed process has left of its notes.
   * @throws HeadFileError
   */
  update (db: Executor): Promise<void>
}

/**
 * The note is authenticated with a key of its own from `MASTER_KEY`: who can write the folder, and nothing else, cannot
 * note an older end of the chain.
 *
 * The file is read every time: another process with the same folder may have noted a later link. The statements are
 * prepared, because a Send waits for them: one round trip each instead of two, and no planning.
 *
 * The notes of one head come one after the other, so that an earlier link never takes the place of a later one. Between
 * processes with one folder nothing orders them: of two that note at the same instant, the earlier link may stay, until
 * either of them notes again.
 */
export function chainHead (file: string, chain: Chain, keys: Pick<Keys, 'fingerprint'>): ChainHead {
  const name = basename(file)
  let notes: Promise<unknown> = Promise.resolve()

  async function last (): Promise<Link | undefined> {
    const text = await read(file)
    if (text === undefined) return undefined
    const noted = parse(text)
    if (!noted || !isAuthentic(noted)) throw new HeadFileError(`${name} is not readable`)
    return { id: noted.id, hash: noted.hash }
  }

  function isAuthentic ({ mac, ...link }: Note): boolean {
    return secretComparer(macOf(link))(mac)
  }

  /** The name of the file is part of it: no chain's note serves another one. */
  function macOf ({ id, hash }: Link): string {
    return keys.fingerprint('chain-head', name, String(id), hash).toString('hex')
  }

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

  function note (db: Executor, link: Link | undefined): Promise<void> {
    const noted = notes.then(() => noteNext(db, link))
    notes = noted.catch(() => {})
    return noted
  }

  async function noteNext (db: Executor, link: Link | undefined): Promise<void> {
    if (!link) {
      // An empty chain has no last link: the process that writes the next row takes this chain for the true one.
      await written(file, rm(file, { force: true }))
      return
    }
    const noted = await last().catch(() => undefined)
    if (noted && noted.id >= link.id && await has(db, noted)) return
    await written(file, writeWhole(file, JSON.stringify({ ...link, mac: macOf(link) })))
  }

  return {
    last,
    has,
    end,
    note,
    isIn: async (db) => has(db, await last()),
    async update (db) {
      await removeLeftovers(file)
      await note(db, await end(db))
    }
  }
}

async function read (file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (err) {
    if (isAbsent(err)) return undefined
    throw new HeadFileError(`${basename(file)} cannot be read`, { cause: err })
  }
}

function isAbsent (err: unknown): boolean {
  return err instanceof Error && 'code' in err && err.code === 'ENOENT'
}

function parse (text: string): Note | undefined {
  let link: unknown
  try {
    link = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof link !== 'object' || link === null || !('id' in link) || !('hash' in link)) return undefined
  const { id, hash } = link
  const isId = typeof id === 'number' && Number.isInteger(id) && id >= 1 && id <= MAX_ID
  return isId && typeof hash === 'string' ? { id, hash, mac: 'mac' in link ? link.mac : undefined } : undefined
}

async function written (file: string, work: Promise<void>): Promise<void> {
  await work.catch((cause: unknown) => { throw new HeadFileError(`${basename(file)} cannot be written`, { cause }) })
}

/** Removes temporary files of processes that were killed. A note is made also when one cannot be removed. */
async function removeLeftovers (file: string): Promise<void> {
  const prefix = `${basename(file)}.`
  const names = await readdir(dirname(file)).catch(() => [])
  const temporary = names.filter((name) => name.startsWith(prefix) && UUID.test(name.slice(prefix.length)))
  for (const path of temporary.map((name) => join(dirname(file), name))) {
    const found = await stat(path).catch(() => undefined)
    if (found && Date.now() - found.mtimeMs > LEFT_MS) await rm(path, { force: true }).catch(() => {})
  }
}
