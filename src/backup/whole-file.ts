import { lstat, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { OperationError } from './errors.ts'

/** What a file is called while it is being written. */
export const PARTIAL = '.partial'

/** The file that is being written is another process's by now, or was taken away. */
class TakenOver extends OperationError {}

/** A file that is written, and has not its name yet. */
export interface Unnamed {
  size: number
  /**
   * Gives it its name, in the place of one that is there.
   * @param check looks at it before
   */
  settle (check?: (partial: string) => Promise<unknown>): Promise<void>
  /** Takes it away. */
  remove (): Promise<void>
}

/**
 * Writes a file that its owner alone can read, and that has its name only once all of it is on the disk: until then it
 * is `<file>.partial`. Where it fails, nothing of it stays.
 * @param mark what such a file begins with: one that begins otherwise is not replaced, unless it is empty; undefined:
 * any file is
 */
export async function writePartial (
  file: string,
  mark: Buffer | undefined,
  content: AsyncIterable<Buffer>
): Promise<Unnamed> {
  const partial = file + PARTIAL
  /** Before it is opened, what has its name is another's. */
  let isOpened = false
  const remove = async () => { if (isOpened) await rm(partial, { force: true }).catch(() => {}) }

  async function write (): Promise<number> {
    const there = await lstat(file).catch(() => undefined)
    // A device would be replaced by a file; and of a link the name, while the file that it leads to stays as it was.
    if (there?.isSymbolicLink()) throw new OperationError(`${file} è un collegamento: indicare il file stesso`)
    if (there && !there.isFile()) throw new OperationError(`${file} c’è già, e non è un file`)
    // A name that is mistyped may be that of the master key.
    if (mark && there && there.size > 0 && !await beginsWith(file, mark)) {
      throw new OperationError(`${file} c’è già, e non è un salvataggio`)
    }
    // One that is there was left by a process that was killed.
    await ofFile(rm(partial, { force: true }))
    const handle = await ofFile(open(partial, 'wx', 0o600))
    isOpened = true
    let size = 0
    try {
      for await (const piece of content) {
        await ofFile(handle.writeFile(piece))
        size += piece.length
      }
      await ofFile(handle.sync())
      const [own, named] = await Promise.all([handle.stat(), stat(partial).catch(() => undefined)])
      if (named === undefined) throw new TakenOver(`${partial} è stato tolto mentre veniva scritto`)
      if (own.ino !== named.ino) throw new TakenOver(`un altro salvataggio scrive ${file}`)
    } finally {
      await handle.close()
    }
    return size
  }

  async function orNothing<T> (work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (err) {
      if (err instanceof TakenOver) throw err
      await remove()
      throw err
    }
  }

  /** The content may fail as well: what a connection says is nothing of the file. */
  async function ofFile<T> (work: Promise<T>): Promise<T> {
    return await work.catch((err: NodeJS.ErrnoException) => {
      throw new OperationError(`${file} non si può scrivere (${err.code ?? err.name})`, { cause: err })
    })
  }

  async function beginsWith (path: string, mark: Buffer): Promise<boolean> {
    const handle = await ofFile(open(path, 'r'))
    try {
      const { buffer } = await handle.read(Buffer.alloc(mark.length), 0, mark.length, 0)
      return buffer.equals(mark)
    } finally {
      await handle.close()
    }
  }

  const size = await orNothing(write)
  return {
    size,
    remove,
    settle: (check) => orNothing(async () => {
      await check?.(partial)
      await ofFile(rename(partial, file))
      await ofFile(syncFolder(dirname(file)))
    })
  }
}

async function syncFolder (folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
