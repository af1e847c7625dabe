import type { Bucket } from '#schemas/storage.ts'
import type { Transaction } from '#src/database/connect.ts'
import type { Storage, WrittenFile } from '#src/services/files/storage.ts'

/* Profile pictures: one object a person, whose name is the person's id and the extension of the format. */

export const PICTURES: Bucket = 'avatars'

export function pictureName (userId: string, extension: string): string {
  return `${userId.toLowerCase()}.${extension}`
}

/** Keeps a picture. It replaces the one that was there, also one of another format. */
export async function keepPicture (
  tx: Transaction, storage: Storage, userId: string, file: WrittenFile
): Promise<void> {
  await discardPicture(tx, storage, userId)
  await storage.keep(tx, file, { replace: true })
}

/** Forgets the picture of a person, if there is one. */
export async function discardPicture (tx: Transaction, storage: Storage, userId: string): Promise<void> {
  await storage.discard(tx, await storage.findByPrefix(tx, PICTURES, pictureName(userId, '')))
}
