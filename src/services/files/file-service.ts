import type { Readable } from 'node:stream'
import type { objects } from '#drizzle/tables/storage.ts'
import type { Bucket } from '#schemas/storage.ts'
import type { ByteRange } from '#src/lib/ranges.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'

export type { ByteRange }

/** A row of the table of objects. */
export type StoredObject = typeof objects.$inferSelect

/** The properties of an object to store. */
export interface NewObject {
  bucket: string
  name: string
  contentType: string
  /** The principal's id. Null for objects of the server itself. */
  owner: string | null
  cacheControl?: string | undefined
  metadata?: Record<string, unknown> | undefined
}

/** An encrypted file on disk without a row. */
export type WrittenFile = Omit<StoredObject, 'created_at' | 'updated_at'>

/** The name of an object in its bucket. */
export interface Place { bucket: string, name: string }

/** How objects are discarded. */
export interface Discarding {
  /** New objects take the names in the same transaction. */
  isReplaced: boolean
}

/** Runs in the transaction that discards objects of an area's bucket, whatever caused the discard. */
export type DiscardHook = (tx: Transaction, names: readonly string[], how: Discarding) => Promise<void>

/** Stored files. The database rows are authoritative, and files follow them. */
export interface Storage {
  /**
   * Writes a file, which stays invisible until `keep`. A file that is never kept is deleted within two days, or sooner
   * by `settle`. On an error nothing remains. A stream that was not read to its end is not destroyed, so that the
   * request can still be answered.
   * @param maxBytes maximum size of the content
   * @throws ContenutoTroppoGrande (413) beyond `maxBytes`; the stream's error; SpazioEsaurito, ArchivioNonDisponibile
   * (503)
   */
  write (content: Readable | Buffer, object: NewObject, maxBytes: number): Promise<WrittenFile>
  /**
   * Inserts a written file's row in the caller's transaction. A previous object of that name is discarded.
   * @throws OggettoEsistente (409) when `replace` is false
   */
  keep (tx: Transaction, file: WrittenFile, options: { replace: boolean }): Promise<StoredObject>
  /**
   * Runs `keeping`, which keeps a written file. Afterwards discarded files are deleted. If `keeping` fails and the file
   * has no row, the file itself is deleted.
   */
  settle<T> (file: WrittenFile, keeping: () => Promise<T>): Promise<T>
  find (executor: Executor, bucket: string, name: string): Promise<StoredObject | undefined>
  /** Objects whose name starts with a prefix, ordered by name (bytewise). */
  findByPrefix (executor: Executor, bucket: string, prefix: string): Promise<StoredObject[]>
  /** The same for many prefixes at once, unordered. */
  findByPrefixes (executor: Executor, bucket: string, prefixes: readonly string[]): Promise<StoredObject[]>
  /** The next objects of a bucket after a name, ordered by name (bytewise). `''` starts with the first. */
  findAfter (executor: Executor, bucket: string, after: string, limit: number): Promise<StoredObject[]>
  /**
   * Streams the decrypted content, or a range. Bytes are authenticated before they are sent.
   * @throws FileIlleggibile (500) at once if the file is missing, has another length or is altered at its start. If a
   * later chunk is altered, the stream fails with it. RisorsaNonTrovata (404) or ServizioOccupato (503) if the object
   * was deleted or replaced meanwhile. ArchivioNonDisponibile (503)
   */
  read (object: StoredObject, range?: ByteRange): Promise<Readable>
  /** Discards objects in the caller's transaction. A worker deletes their files after the commit. */
  discard (tx: Transaction, objects: readonly Pick<StoredObject, 'id'>[], how?: Discarding): Promise<void>
  /** Called after the commit, to delete files now instead of within a minute. */
  removeDiscarded (): void
  /**
   * Renames an object, also into another bucket. Its file stays where it is.
   * @throws OggettoEsistente (409) if the name is taken; RisorsaNonTrovata (404) if the object was deleted meanwhile
   */
  move (tx: Transaction, object: StoredObject, to: Place): Promise<StoredObject>
  /** Copies the file. The caller must `keep` the copy. */
  copy (object: StoredObject, to: Place & { owner: string | null }): Promise<WrittenFile>
}

declare module 'fastify' {
  interface FastifyInstance {
    storage: Storage
    addDiscardHook (bucket: Bucket, hook: DiscardHook): void
  }
}
