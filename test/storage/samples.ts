import type { TestApp } from '#test/helper.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'

/** The first bytes of a JPEG, which are enough here. */
export const JPEG = Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex')

/** Stores a file as the endpoints of its bucket would. */
export async function store (
  { app }: Pick<TestApp, 'app'>,
  bucket: string,
  name: string,
  content: Buffer | string = JPEG,
  { owner = null, contentType = 'image/jpeg' }: { owner?: string | null, contentType?: string } = {}
): Promise<StoredFile> {
  const bytes = Buffer.from(content)
  const written = await app.files.write(bytes, { bucket, name, owner, contentType }, bytes.length)
  return await app.db.transaction((tx) => app.files.keep(tx, written, { replace: true }))
}

/** Discards a file, as a purge would. */
export async function discard ({ app }: Pick<TestApp, 'app'>, file: StoredFile): Promise<void> {
  await app.db.transaction((tx) => app.files.discard(tx, [file]))
}
