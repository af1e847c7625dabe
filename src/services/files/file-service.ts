import type { Readable } from 'node:stream'
import type { objects } from '#drizzle/tables/storage.ts'
import type { Bucket } from '#schemas/storage.ts'
import type { ByteRange } from '#src/lib/ranges.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'

export type { ByteRange }

/** A row of the table of objects. */
export type StoredFile = typeof objects.$inferSelect

/** The properties of a file to store. */
interface NewFile {
  bucket: string
  name: string
  contentType: string
  /** The principal's id. Null for files of the server itself. */
  owner: string | null
  cacheControl?: string | undefined
  metadata?: Record<string, unknown> | undefined
}

/** An encrypted file on disk without a row. */
export type WrittenFile = Omit<StoredFile, 'object_id' | 'created_at' | 'updated_at'>

/** The name of a file in its bucket. */
export interface Place { bucket: string, name: string }

/** Options of a discard. */
interface Discarding {
  /** Whether new files take the names of the discarded files in the same transaction. */
  isReplaced: boolean
}

/** Runs in every transaction that discards files of an area's bucket. */
export type DiscardHook = (tx: Transaction, names: readonly string[], how: Discarding) => Promise<void>

/** Stored files. The database rows decide which files exist. */
export interface FileService {
  /**
   * Writes a file, which stays invisible until `keep`. A file that is never kept is deleted within two days, or sooner
   * by `settle`. After an error the file is deleted. A stream that was not read to its end is not destroyed, so that
   * the request still gets a response.
   * @param maxBytes maximum size of the content
   * @throws ContenutoTroppoGrande (413) beyond `maxBytes`, the stream's error, SpazioEsaurito, ArchivioNonDisponibile
   * (503)
   */
  write (content: Readable | Buffer, object: NewFile, maxBytes: number): Promise<WrittenFile>
  /**
   * Inserts a written file's row in the caller's transaction. If the name exists, its row gets the new content, and the
   * previous content is discarded. The row keeps its object id, its creation time, and its metadata when the new file
   * has none.
   * @throws OggettoEsistente (409) when `replace` is false
   */
  keep (tx: Transaction, file: WrittenFile, options: { replace: boolean }): Promise<StoredFile>
  /**
   * Runs `keeping`, which keeps a written file. If `keeping` fails and the file has no row, discards the file.
   * Afterwards wakes the worker that deletes discarded files.
   */
  settle<T> (file: WrittenFile, keeping: () => Promise<T>): Promise<T>
  find (executor: Executor, bucket: string, name: string): Promise<StoredFile | undefined>
  /** Files whose name starts with a prefix, ordered by name (bytewise). */
  findByPrefix (executor: Executor, bucket: string, prefix: string): Promise<StoredFile[]>
  /** Files whose name starts with one of many prefixes, unordered. */
  findByPrefixes (executor: Executor, bucket: string, prefixes: readonly string[]): Promise<StoredFile[]>
  /** The next files of a bucket after a name, ordered by name (bytewise). `''` means from the first. */
  findAfter (executor: Executor, bucket: string, after: string, limit: number): Promise<StoredFile[]>
  /**
   * Streams the decrypted content, or a range. Bytes are authenticated before they are sent.
   * @throws FileIlleggibile (500) at once if the file is missing, has another length or is altered at its start. If a
   * later chunk is altered, the stream fails with it. RisorsaNonTrovata (404) or ServizioOccupato (503) if the file
   * was deleted or replaced meanwhile. ArchivioNonDisponibile (503)
   */
  read (object: StoredFile, range?: ByteRange): Promise<Readable>
  /** Discards files in the caller's transaction. A worker deletes the contents after the commit. */
  discard (tx: Transaction, objects: readonly Pick<StoredFile, 'id'>[], how?: Discarding): Promise<void>
  /** Wakes the worker that deletes discarded files, which otherwise runs within a minute. Call it after the commit. */
  removeDiscarded (): void
  /**
   * Renames a file, also into another bucket. The content is not copied.
   * @throws OggettoEsistente (409) if the name is taken, RisorsaNonTrovata (404) if the file was deleted meanwhile
   */
  move (tx: Transaction, object: StoredFile, to: Place): Promise<StoredFile>
  /** Copies the file. The caller has to `keep` the copy. */
  copy (object: StoredFile, to: Place & { owner: string | null }): Promise<WrittenFile>
}

/** A link that reads a file without credentials until it expires. */
export interface FileLink { signedUrl: string, expires_at: string }

declare module 'fastify' {
  interface FastifyInstance {
    files: FileService
    /** Only the storage area calls it, because it serves such links. */
    provideFileLinks (source: (file: StoredFile, seconds: number) => FileLink): void
    linkFile (file: StoredFile, seconds: number): FileLink
    addDiscardHook (bucket: Bucket, hook: DiscardHook): void
  }
}
