import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'

/**
 * Writes a file atomically and durably. Only its owner can read it. It is written as `<file>.<UUID>`, then renamed. The
 * folder must exist, because a missing one may be an unmounted volume.
 */
export async function writeAtomically (file: string, text: string): Promise<void> {
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
