import type { ByteRange } from '#src/lib/ranges.ts'

/** Metadata of a stored file. `size` is the encrypted size in bytes. */
export interface FileFacts { size: number, modified: Date }

/** An opened file or range. The caller has to close it. */
export interface OpenedFile {
  /** Can be read once. A chunk of `STRETCH_BYTES` is valid until the next is requested. A shorter chunk stays valid. */
  content: AsyncIterable<Buffer>
  /** Size of the whole file in bytes. */
  size: number
  /** May be called while a chunk is pending, and more than once. */
  close (): void
}

/**
 * Stores files under UUIDs only, so that no caller's text becomes part of a path or key. A file is written once and
 * never changed.
 */
export interface Backend {
  /** Writes a file atomically. The file is durable when the promise resolves. */
  put (id: string, content: AsyncIterable<Buffer>): Promise<void>
  /** Opens a file. Undefined if it does not exist. */
  get (id: string, range?: ByteRange): Promise<OpenedFile | undefined>
  head (id: string): Promise<FileFacts | undefined>
  /** Deletes the file and the remains of an interrupted upload. A missing file is not an error. */
  delete (id: string): Promise<void>
  /**
   * Lists files and interrupted uploads in one of the 256 folders, or in all, unordered. Skips names that are not file
   * ids.
   */
  list (folder?: string): AsyncIterable<FileFacts & { id: string }>
  /** Copies a file. False if the source does not exist. */
  copy (from: string, to: string): Promise<boolean>
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

export function isId (text: string): boolean {
  return UUID.test(text)
}

/** The folder of a file. 256 folders, `00` to `ff`, so that none gets too many files. */
export function folderOf (id: string): string {
  return id.slice(0, 2)
}
