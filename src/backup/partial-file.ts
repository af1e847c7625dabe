import { lstat, open, rename, rm } from 'node:fs/promises'
import { OperationError } from './errors.ts'
import { isSealed } from './sealed-tar.ts'

/**
 * Has `<file>.partial` written, and gives it its name. Where that fails, no part of it stays.
 * @param isOwnName whether the name is for backups alone: a file that has it is replaced, however damaged it is
 */
export async function writeWhole<T> (
  file: string, isOwnName: boolean, write: (partial: string) => Promise<T>
): Promise<T> {
  const there = await lstat(file).catch(() => undefined)
  // A name that is mistyped may be that of the master key.
  if (there && !(there.isFile() && (isOwnName || there.size === 0 || await orTell(file, isSealed(file))))) {
    throw new OperationError(`${file} c’è già, e non è un salvataggio`)
  }
  const partial = `${file}.partial`
  try {
    const written = await write(partial)
    await orTell(file, rename(partial, file))
    return written
  } catch (err) {
    await rm(partial, { force: true }).catch(() => {})
    throw err
  }
}

/** Writes a file that its owner alone can read, to the disk; gives its bytes. */
export async function writePartial (partial: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  // One that is there was left by a process that was killed.
  await orTell(partial, rm(partial, { force: true }))
  const handle = await orTell(partial, open(partial, 'wx', 0o600))
  let size = 0
  try {
    for await (const piece of content) {
      await orTell(partial, handle.writeFile(piece))
      size += piece.length
    }
    await orTell(partial, handle.sync())
  } finally {
    await handle.close()
  }
  return size
}

/** The content may fail as well: a lost connection is no fault of the file. */
async function orTell<T> (file: string, work: Promise<T>): Promise<T> {
  return await work.catch((err: NodeJS.ErrnoException) => {
    throw new OperationError(`${file} non si può scrivere (${err.code ?? err.name})`, { cause: err })
  })
}
