import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Writes a file that its owner alone can read: whole or not at all, and on the disk before it returns. It is written
 * beside its place, as `<file>.<UUID>`, and renamed. A folder that is not there is made, for the owner alone.
 */
export async function writeWhole (file: string, text: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}`
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
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
