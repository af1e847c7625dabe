import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'

/**
 * Writes a file that its owner alone can read: whole or not at all, and on the disk before it returns. It is written
 * beside its place, as `<file>.<UUID>`, and renamed. Its folder must be there: one that has gone may be a volume that
 * is not mounted.
 */
export async function writeWhole (file: string, text: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}`
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
  } catch (err) {
    await rm(temporary, { force: true }).catch(() => {})
    throw err
  }
}
