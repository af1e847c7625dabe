import { open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { OperationError } from '../errors.ts'

/** What a file is called while it is being written. */
export const PARTIAL = '.partial'

/** The file that is being written is another process's by now. */
class TakenOver extends OperationError {}

/**
 * Writes a file that its owner alone can read: as `<file>.partial`, which takes the file's name once all of it is on
 * the disk. A file of that name stays until then.
 * @param check looks at it before it takes the name
 * @returns its bytes
 */
export async function writeFileWhole (
  file: string,
  content: AsyncIterable<Buffer>,
  check: (partial: string) => Promise<unknown> = async () => {}
): Promise<number> {
  const partial = file + PARTIAL
  try {
    // One that is there was left by a process that was killed.
    await rm(partial, { force: true })
    const handle = await open(partial, 'wx', 0o600)
    let size = 0
    try {
      for await (const piece of content) {
        await handle.writeFile(piece)
        size += piece.length
      }
      await handle.sync()
      const [own, named] = await Promise.all([handle.stat(), stat(partial).catch(() => undefined)])
      if (own.ino !== named?.ino) throw new TakenOver(`un altro salvataggio scrive ${file}`)
    } finally {
      await handle.close()
    }
    await check(partial)
    await rename(partial, file)
    await syncFolder(dirname(file))
    return size
  } catch (err) {
    if (err instanceof TakenOver) throw err
    await rm(partial, { force: true }).catch(() => {})
    if (err instanceof OperationError) throw err
    const code = err instanceof Error && 'syscall' in err && 'code' in err ? String(err.code) : undefined
    throw code === undefined ? err : new OperationError(`${file} non si può scrivere (${code})`, { cause: err })
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
