import { statfs } from 'node:fs/promises'

/** With fewer free bytes, writes are assumed to fail. */
const ROOM = 2 ** 20

/** Whether the disk of a folder is full. False for a missing folder, which has no files yet. */
export async function isOutOfSpace (folder: string): Promise<boolean> {
  const found = await statfs(folder).catch(() => undefined)
  return found !== undefined && found.bavail * found.bsize < ROOM
}
