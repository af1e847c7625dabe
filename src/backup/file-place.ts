import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Backend } from '#src/services/files/backends/backend.ts'
import { OperationError } from './errors.ts'
import type { Manifest } from './contents.ts'

/** The place into which the files of a backup come. */
export interface FilePlace {
  put (id: string, content: AsyncIterable<Buffer>): Promise<void>
  /** The restore is done. */
  settle (): Promise<void>
  /** The restore is given up: the place is as it was. */
  clear (): Promise<void>
}

/**
 * An empty place: two databases must not share one. An empty file in it says which backup comes there, so that a
 * restore that was killed can be begun again.
 * @throws OperationError where files of another database, or of another backup, are
 */
export async function filePlace (backend: Backend, manifest: Manifest): Promise<FilePlace> {
  const mark = markOf(manifest)
  const isResumed = await backend.head(mark) !== undefined
  if (!isResumed) {
    // The mark itself may be half there: a restore was killed while it wrote it.
    for await (const { id } of backend.list()) {
      if (id === mark) continue
      throw new OperationError('il posto dei file (la cartella files di DATA_DIR, o il bucket S3) non è vuoto: un ' +
        'ripristino ne vuole uno vuoto')
    }
    await backend.delete(mark)
    await backend.put(mark, Readable.from([]))
  }
  return {
    async put (id, content) {
      if (isResumed) await backend.delete(id)
      await backend.put(id, content)
    },
    settle: () => backend.delete(mark),
    async clear () {
      for await (const { id } of backend.list()) if (id !== mark) await backend.delete(id)
      await backend.delete(mark)
    }
  }
}

/** The same for the same backup, in the form of a file's name. */
function markOf ({ created, masterKey }: Manifest): string {
  const hex = createHash('sha256').update(`${created} ${masterKey}`).digest('hex')
  return [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]].map(([from, to]) => hex.slice(from, to)).join('-')
}
