import type { ByteRange } from '#src/lib/ranges.ts'

/** A stored file's metadata. `size` is in bytes, encrypted. */
export interface FileFacts { size: number, modified: Date }

/** An opened file or range. The caller that opened it closes it. */
export interface OpenedFile {
  /** Can be read once. A chunk of `STRETCH_BYTES` is valid until the next one is requested. Shorter ones stay valid. */
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
  /** Atomic, and durable before it resolves. */
  put (id: string, content: AsyncIterable<Buffer>): Promise<void>
  /** Undefined if the file does not exist. */
  get (id: string, range?: ByteRange): Promise<OpenedFile | undefined>
  head (id: string): Promise<FileFacts | undefined>
  /** Deletes the file and the remains of an interrupted upload. A missing file is no error. */
  delete (id: string): Promise<void>
  /**
   * Lists the files and interrupted uploads of one of the 256 folders, or of all, unordered. It skips names that
   * are not file ids.
   */
  list (folder?: string): AsyncIterable<FileFacts & { id: string }>
  /** False if the source does not exist. */
  copy (from: string, to: string): Promise<boolean>
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

export function isId (text: string): boolean {
  return UUID.test(text)
}

/** The folder of a file. There are 256, `00` to `ff`, so that none grows too large. */
export function folderOf (id: string): string {
  return id.slice(0, 2)
}
