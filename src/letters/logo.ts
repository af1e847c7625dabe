import type { Executor } from '#src/plugins/database/connect.ts'
import type { Storage, StoredObject } from '#src/plugins/storage/storage.ts'
import type { PdfJob } from '#src/pdf/index.ts'
import { LETTERS } from './file.ts'

/** How the name of the logo's file begins; `png` or `jpg` follows. The row of the file is its only record. */
export const LOGO = 'struttura/logo.'

export async function findLogo (
  storage: Pick<Storage, 'findByPrefix'>, db: Executor
): Promise<StoredObject | undefined> {
  const [logo] = await storage.findByPrefix(db, LETTERS, LOGO)
  return logo
}

/** The pictures of a letter. */
export async function readLogo (storage: Pick<Storage, 'findByPrefix' | 'read'>, db: Executor): Promise<PdfJob['assets']> {
  const logo = await findLogo(storage, db)
  if (!logo) return undefined
  const pieces = await (await storage.read(logo)).toArray() as Buffer[]
  return { logo: { data: Buffer.concat(pieces), format: logo.name.endsWith('png') ? 'png' : 'jpg' } }
}
