import { statfs } from 'node:fs/promises'

/** Free bytes below which we assume that writes fail. */
const ROOM = 2 ** 20

/** Whether the disk of a folder is full. A missing folder holds no files yet. */
export async function isOutOfSpace (folder: string): Promise<boolean> {
  const found = await statfs(folder).catch(() => undefined)
  return found !== undefined && found.bavail * found.bsize < ROOM
}
