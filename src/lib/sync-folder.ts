import { open } from 'node:fs/promises'
import { platform } from 'node:os'

/** Makes new and renamed entries of a folder durable. Windows has no fsync for folders. */
export async function syncFolder (folder: string): Promise<void> {
  if (platform() === 'win32') return
  const handle = await open(folder)
  await handle.sync().finally(() => handle.close())
}
