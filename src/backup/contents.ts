import { DAMAGED, OperationError } from './errors.ts'
import { readContainer, type Opener } from './container.ts'
import { atOnce, type Pace } from './pace.ts'
import { sectionsOf } from './sections.ts'

/** The first section: what the rest is, and who can use it. */
export interface Manifest {
  kind: 'manifest'
  /** Of the program that wrote it. */
  version: string
  created: string
  /** The last migration of the database, as drizzle's journal has it (`when`). */
  migration: number
  /** By which the master key is known with which the content was written; not the key. */
  masterKey: string
}

/** Rows as `COPY … TO STDOUT` writes them: a line each. */
export interface TableHead { kind: 'table', name: string, columns: string[] }

/** A stored file, encrypted as it lies in storage. */
export interface FileHead { kind: 'file', id: string, size: number }

/** The last section: what there must have been. */
export interface Summary {
  kind: 'end'
  tables: Record<string, number>
  files: number
  /** Bytes of the files. */
  bytes: number
  /**
   * Ids of files that a row names and that were missing, cut or illegible when the backup was made. Where that showed
   * only while one was read, it is among the files all the same, with zeros for its end.
   */
  missing: string[]
  /** Tables and columns of the database that no migration has made, and that are not in the backup. */
  foreign: string[]
  /** The last values of sequences that have one. */
  sequences: Record<string, string>
}

/** What has been there so far. */
type Counts = Pick<Summary, 'tables' | 'files' | 'bytes'>

export type Head = Manifest | TableHead | FileHead | Summary

/** Who reads a backup: section by section, as they come. What is not read of one is passed over. */
export interface Reader {
  manifest (manifest: Manifest): Promise<void>
  table (head: TableHead, rows: AsyncIterable<Buffer>): Promise<void>
  file (head: FileHead, content: AsyncIterable<Buffer>): Promise<void>
}

const NEWLINE = 0x0a

/**
 * Reads a backup from its beginning to its end, and counts.
 * @throws OperationError for a wrong passphrase, and where a byte is missing or was changed
 */
export async function readBackup (
  path: string,
  passphrase: string | Opener,
  reader: Partial<Reader> = {},
  pace: Pace = atOnce
): Promise<{ manifest: Manifest, summary: Summary }> {
  return readContainer(path, passphrase, async (content) => {
    const counts: Counts = { tables: {}, files: 0, bytes: 0 }
    let manifest: Manifest | undefined
    let summary: Summary | undefined
    for await (const { head, pieces } of sectionsOf<Head>(pace(content))) {
      const isFirst = manifest === undefined
      if ((head.kind === 'manifest') !== isFirst || summary !== undefined) throw new OperationError(DAMAGED)
      if (head.kind === 'manifest') manifest = head
      if (head.kind === 'end') summary = head
      await readSection(head, pieces, reader, counts)
    }
    if (manifest === undefined || summary === undefined) throw new OperationError(DAMAGED)
    return { manifest, summary }
  })
}

async function readSection (
  head: Head,
  pieces: AsyncGenerator<Buffer>,
  reader: Partial<Reader>,
  counts: Counts
): Promise<void> {
  switch (head.kind) {
    case 'manifest':
      return reader.manifest?.(head)
    case 'table': {
      const rows = counted(pieces, rowsIn)
      await reader.table?.(head, rows.content)
      counts.tables[head.name] = await rows.total()
      return
    }
    case 'file': {
      const bytes = counted(pieces, ({ length }) => length)
      await reader.file?.(head, bytes.content)
      counts.files++
      counts.bytes += head.size
      if (await bytes.total() !== head.size) throw new OperationError(DAMAGED)
      return
    }
    case 'end':
      if (!isComplete(head, counts)) throw new OperationError(DAMAGED)
  }
}

function isComplete (end: Summary, found: Counts): boolean {
  const names = Object.keys(end.tables)
  return end.files === found.files && end.bytes === found.bytes &&
    names.length === Object.keys(found.tables).length &&
    names.every((name) => end.tables[name] === found.tables[name])
}

/** Rows that end in a piece: `COPY` writes a newline inside of a value as `\n`, two characters. */
export function rowsIn (piece: Buffer): number {
  let rows = 0
  for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, at + 1)) rows++
  return rows
}

/** Pieces that pass, and what they come to; what nobody has read is read for the total. */
function counted (pieces: AsyncGenerator<Buffer>, measure: (piece: Buffer) => number) {
  let sum = 0
  async function * content (): AsyncGenerator<Buffer> {
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
      sum += measure(next.value)
      yield next.value
    }
  }
  const own = content()
  return {
    content: own,
    total: async () => {
      while (!(await own.next()).done);
      return sum
    }
  }
}
