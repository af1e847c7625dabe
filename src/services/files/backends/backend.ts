import type { ByteRange } from '#src/lib/ranges.ts'

/** A file as its place knows it; `size` in bytes, as it is stored. */
export interface FileFacts { size: number, modified: Date }

/** Part of a file, or all of it. It is closed by whoever has opened it. */
export interface OpenedFile {
  /** Read once. A piece of `STRETCH_BYTES` is good until the next one is asked for, and shorter ones for good. */
  content: AsyncIterable<Buffer>
  /** Bytes that the whole file has. */
  size: number
  /** Also in the middle of a wait for the next piece; more than once is no error. */
  close (): void
}

/**
 * Where files are kept. Their names are UUIDs and nothing else: no text of a caller's becomes part of a path or key.
 * A file is written once and never changed.
 */
export interface Backend {
  /** Whole or not at all, and durably before it returns. */
  put (id: string, content: AsyncIterable<Buffer>): Promise<void>
  /** Undefined: there is no such file. */
  get (id: string, range?: ByteRange): Promise<OpenedFile | undefined>
  head (id: string): Promise<FileFacts | undefined>
  /** The file, and what an upload of it that was broken off has left; none is no error. */
  delete (id: string): Promise<void>
  /**
   * Every file of one of the 256 folders, or of all, and every upload that was broken off, in no order; what has
   * another name is none of ours.
   */
  list (folder?: string): AsyncIterable<FileFacts & { id: string }>
  /** False: there is no such file. */
  copy (from: string, to: string): Promise<boolean>
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

export function isId (text: string): boolean {
  return UUID.test(text)
}

/** The folder that a file is in: there are 256 of them, `00` to `ff`, so that none grows too long. */
export function folderOf (id: string): string {
  return id.slice(0, 2)
}
