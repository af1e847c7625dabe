import type { Readable } from 'node:stream'
import type { objects } from '#drizzle/tables/storage.ts'
import type { Bucket } from '#schemas/storage.ts'
import type { ByteRange } from '#src/lib/ranges.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'

export type { ByteRange }

/** An object as its row says. */
export type StoredObject = typeof objects.$inferSelect

/** What is to be stored, and where. */
export interface NewObject {
  bucket: string
  name: string
  contentType: string
  /** The principal's id; null: the product itself. */
  owner: string | null
  cacheControl?: string | undefined
  metadata?: Record<string, unknown> | undefined
}

/** A file that is encrypted and on the disk, and that no row names yet. */
export type WrittenFile = Omit<StoredObject, 'created_at' | 'updated_at'>

/** Where an object is. */
export interface Place { bucket: string, name: string }

/** How objects are forgotten. */
export interface Discarding {
  /** Others take their names in the same transaction. */
  isReplaced: boolean
}

/** What an area does in the transaction in which files of a bucket of its own are forgotten, by whichever way. */
export type DiscardHook = (tx: Transaction, names: readonly string[], how: Discarding) => Promise<void>

/** The files of the product: rows in the database are the truth, files follow. */
export interface Storage {
  /**
   * Writes a file; nobody finds it until `keep`. One that is never kept is removed within two days, or sooner where
   * `settle` sees to it.
   * @param maxBytes bytes of the content
   * @throws ContenutoTroppoGrande (413) beyond `maxBytes`; what the stream fails with; SpazioEsaurito,
   * ArchivioNonDisponibile (503). Nothing is left behind. A stream that was not read to its end is left to the caller:
   * it is not destroyed, so that a request can still be answered
   */
  write (content: Readable | Buffer, object: NewObject, maxBytes: number): Promise<WrittenFile>
  /**
   * Gives a written file its name, in the caller's transaction; what had the name before is discarded.
   * @throws OggettoEsistente (409) where it must not replace
   */
  keep (tx: Transaction, file: WrittenFile, options: { replace: boolean }): Promise<StoredObject>
  /**
   * Does what keeps a written file, and removes files afterwards: those that it has discarded or, where it failed and
   * the file is nobody's, the file itself.
   */
  settle<T> (file: WrittenFile, keeping: () => Promise<T>): Promise<T>
  find (executor: Executor, bucket: string, name: string): Promise<StoredObject | undefined>
  /** Objects whose name begins so, ordered by name (bytewise). */
  findByPrefix (executor: Executor, bucket: string, prefix: string): Promise<StoredObject[]>
  /** The same for many prefixes at once, in no order. */
  findByPrefixes (executor: Executor, bucket: string, prefixes: readonly string[]): Promise<StoredObject[]>
  /** The next objects of a bucket after a name, ordered by name (bytewise); all of them begin after `''`. */
  findAfter (executor: Executor, bucket: string, after: string, limit: number): Promise<StoredObject[]>
  /**
   * The content, whole or in part, decrypted while it is read; every byte is authenticated before it is given out.
   * @throws FileIlleggibile (500) at once where the file is missing, has another length or is changed at its beginning;
   * a later chunk that was changed ends the stream with it. RisorsaNonTrovata (404) or ServizioOccupato (503) where the
   * object was deleted or replaced since it was found. ArchivioNonDisponibile (503)
   */
  read (object: StoredObject, range?: ByteRange): Promise<Readable>
  /** Forgets objects in the caller's transaction; their files are removed after the commit, by a worker. */
  discard (tx: Transaction, objects: readonly Pick<StoredObject, 'id'>[], how?: Discarding): Promise<void>
  /** After the commit: files are removed now rather than within a minute. */
  removeDiscarded (): void
  /**
   * Another name for the same object, in the same bucket or another one; its file stays where it is.
   * @throws OggettoEsistente (409) where the name is taken; RisorsaNonTrovata (404) where it is gone meanwhile
   */
  move (tx: Transaction, object: StoredObject, to: Place): Promise<StoredObject>
  /** A copy of the file, to be kept by the caller. */
  copy (object: StoredObject, to: Place & { owner: string | null }): Promise<WrittenFile>
}

declare module 'fastify' {
  interface FastifyInstance {
    storage: Storage
    addDiscardHook (bucket: Bucket, hook: DiscardHook): void
  }
}
