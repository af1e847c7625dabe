import { randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { Database, Executor } from '#src/database/connect.ts'
import { isTransient } from '#src/database/problems.ts'
import { RisorsaNonTrovata, ServizioOccupato } from '#src/lib/errors.ts'
import type { Backend } from './backends/backend.ts'
import { ChangedFileError, decrypt, encrypt, encryptedRange, encryptedSize, KEY_BYTES } from './encryption.ts'
import { ArchivioNonDisponibile, ContenutoTroppoGrande, FileIlleggibile, OggettoEsistente } from './errors.ts'
import { type Generations, unwrap, wrap, WrongKeyError } from './key-wrapping.ts'
import {
  discardFiles, discardUnreferenced, findFile, findFilesByPrefix, findFilesAfter, findFilesByPrefixes, insertFile,
  lockFile, deleteRow, rowStatus
} from './file-rows.ts'
import type { DiscardHook, FileService, StoredFile, WrittenFile } from './file-service.ts'
import type { BackendMarker } from './backend-marker.ts'

/** Wraps a generator as a stream. Destroying it closes the generator's source, even while a chunk is pending. */
function streamOf (
  pieces: AsyncGenerator<Buffer>,
  first: Buffer | undefined,
  { close, failureOf }: { close: () => void, failureOf: (err: unknown) => unknown }
): Readable {
  let next: Promise<Buffer | undefined> | undefined = Promise.resolve(first)
  return new Readable({
    read () {
      const piece = next ?? pieces.next().then(({ value, done }) => done ? undefined : value as Buffer)
      next = undefined
      piece.then((bytes) => this.push(bytes ?? null), (err: unknown) => {
        if (!this.destroyed) this.destroy(failureOf(err) as Error)
      })
    },
    destroy (err, callback) {
      close()
      callback(err)
    }
  })
}

interface Parts {
  db: Database
  log: FastifyBaseLogger
  backend: Backend
  marker: BackendMarker
  generations: Generations
  /** Hooks by bucket. Undefined means that discarded files have no hooks. */
  discardHooks?: ReadonlyMap<string, readonly DiscardHook[]>
  /** Wakes the removal worker. */
  removeDiscarded (): void
}

/** Combines database rows and files. See `FileService`. */
export function encryptedFiles (
  { db, log, backend, marker, generations, discardHooks = new Map(), removeDiscarded }: Parts
): FileService {
  /** Unwraps the key of a file. A rotation may have wrapped it again since the row was read. */
  async function keyOf (executor: Executor, object: StoredFile): Promise<Buffer> {
    const generation = await generations.find(executor, object.key_id)
    if (generation) return unwrap(object.wrapped_key, generation.key, object)
    const row = await findFile(executor, object.bucket, object.name)
    if (row?.id !== object.id || row.key_id === object.key_id) throw await lostError(object)
    return keyOf(executor, row)
  }

  /** The error for a stored file whose content cannot be read. */
  async function lostError (object: StoredFile): Promise<Error> {
    const left = await rowStatus(db, object)
    if (left === 'none') return new RisorsaNonTrovata()
    // The file was just replaced. A retry finds the new one.
    if (left === 'another') return new ServizioOccupato()
    // If the whole file backend is missing, this file is not damaged.
    await marker.require()
    return unreadableFile(object, 'the file is missing')
  }

  function unreadableFile ({ id }: StoredFile, cause: unknown): Error {
    log.error({ file: id, err: cause }, 'a stored file is damaged or missing')
    return new FileIlleggibile()
  }

  function failureOf (object: StoredFile, err: unknown): unknown {
    if (err instanceof ChangedFileError || err instanceof WrongKeyError) return unreadableFile(object, err)
    if (!isSystemError(err)) return err
    log.error({ file: object.id, err }, 'a stored file cannot be read')
    return new ArchivioNonDisponibile({ cause: err })
  }

  /** Schedules the deletion of a file whose transaction failed. If that fails, the nightly comparison deletes it. */
  async function discardWritten ({ id }: WrittenFile, err: unknown): Promise<void> {
    // After a lost connection the transaction may have committed, so the file must stay.
    if (isTransient(err)) return
    try {
      await discardUnreferenced(db, id)
    } catch (err) {
      log.warn({ file: id, err }, 'a written file without a row is left for the nightly comparison')
    }
  }

  return {
    async write (content, { bucket, name, contentType, owner, cacheControl, metadata }, maxBytes) {
      const [{ id: keyId, key: wrapping }] = await Promise.all([generations.newest(db), marker.require()])
      const id = randomUUID()
      const key = randomBytes(KEY_BYTES)
      const count = { bytes: 0 }
      await backend.put(id, encrypt(counted(content, maxBytes, count), key))
      return {
        id,
        bucket,
        name,
        owner,
        content_type: contentType,
        size: count.bytes,
        cache_control: cacheControl ?? null,
        metadata: metadata ?? null,
        key_id: keyId,
        wrapped_key: wrap(key, wrapping, { bucket, id, owner })
      }
    },

    async keep (tx, file, { replace }) {
      const held = await generations.hold(tx, file.key_id)
      if (held.id === file.key_id) return insertFile(tx, file, replace)
      const written = await generations.find(tx, file.key_id)
      const key = unwrap(file.wrapped_key, written!.key, file)
      return insertFile(tx, { ...file, key_id: held.id, wrapped_key: wrap(key, held.key, file) }, replace)
    },

    async settle (file, keeping) {
      try {
        return await keeping()
      } catch (err) {
        await discardWritten(file, err)
        throw err
      } finally {
        removeDiscarded()
      }
    },

    find: findFile,
    findByPrefix: findFilesByPrefix,
    findByPrefixes: findFilesByPrefixes,
    findAfter: findFilesAfter,

    async read (object, range) {
      try {
        const key = await keyOf(db, object)
        const opened = await backend.get(object.id, range && encryptedRange(object.size, range))
        if (!opened) throw await lostError(object)
        const { content, size, close } = opened
        try {
          if (size !== encryptedSize(object.size)) throw new ChangedFileError('the file has another length')
          const pieces = decrypt(content, key, object.size, range)
          // Read the first chunk, so that a file damaged at its start is refused before the response begins.
          const { value: first } = await pieces.next()
          return streamOf(pieces, first ?? undefined, { close, failureOf: (err) => failureOf(object, err) })
        } catch (err) {
          close()
          throw err
        }
      } catch (err) {
        throw failureOf(object, err)
      }
    },

    async discard (tx, objects, how = { isReplaced: false }) {
      const gone = await discardFiles(tx, objects.map(({ id }) => id))
      for (const [bucket, places] of Map.groupBy(gone, ({ bucket }) => bucket)) {
        for (const hook of discardHooks.get(bucket) ?? []) await hook(tx, places.map(({ name }) => name), how)
      }
    },
    removeDiscarded,

    async move (tx, object, { bucket, name }) {
      if (!await lockFile(tx, object.id)) throw new RisorsaNonTrovata()
      // Check before this row is deleted. Otherwise concurrent moves to each other's names could deadlock.
      const other = await findFile(tx, bucket, name)
      if (other && other.id !== object.id) throw new OggettoEsistente()
      const row = await deleteRow(tx, object.id)
      const held = await generations.hold(tx, row.key_id)
      const key = await keyOf(tx, row)
      const moved = { ...row, bucket, name, key_id: held.id, updated_at: undefined }
      return insertFile(tx, { ...moved, wrapped_key: wrap(key, held.key, moved) }, false)
    },

    async copy (object, { bucket, name, owner }) {
      await marker.require()
      const key = await keyOf(db, object)
      const { id: keyId, key: wrapping } = await generations.newest(db)
      const id = randomUUID()
      if (!await backend.copy(object.id, id)) throw await lostError(object)
      const { content_type, size, cache_control, metadata } = object
      const wrapped_key = wrap(key, wrapping, { bucket, id, owner })
      return { id, bucket, name, owner, content_type, size, cache_control, metadata, key_id: keyId, wrapped_key }
    }
  }
}

/** Passes the content on, up to `maxBytes`. It does not destroy the caller's stream. */
async function * counted (
  content: Readable | Buffer,
  maxBytes: number,
  count: { bytes: number }
): AsyncGenerator<Buffer> {
  const pieces = Buffer.isBuffer(content) ? [content] : content.iterator({ destroyOnReturn: false })
  for await (const piece of pieces as AsyncIterable<Buffer>) {
    count.bytes += piece.length
    if (count.bytes > maxBytes) throw new ContenutoTroppoGrande(String(maxBytes))
    yield piece
  }
}

function isSystemError (err: unknown): boolean {
  return err instanceof Error && 'syscall' in err
}
