import { statfs } from 'node:fs/promises'

/** With fewer free bytes, writes are assumed to fail. */
const ROOM = 2 ** 20

/** The size and the free space of the disk of a folder, in bytes. @throws when the folder is missing */
export async function diskSpace (folder: string): Promise<{ size: number, free: number }> {
  const { blocks, bavail, bsize } = await statfs(folder)
  return { size: blocks * bsize, free: bavail * bsize }
}

/** Whether the disk of a folder is full. False for a missing folder, which has no files yet. */
export async function isOutOfSpace (folder: string): Promise<boolean> {
  const disk = await diskSpace(folder).catch(() => undefined)
  return disk !== undefined && disk.free < ROOM
}
