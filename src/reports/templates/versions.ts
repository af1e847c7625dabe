import { and, desc, eq } from 'drizzle-orm'
import { pdf_template_versions as t } from '#drizzle/tables/reports.ts'
import type { Executor } from '#src/database/connect.ts'
import { VersioneNonTrovata } from '../errors.ts'
import { findTemplate, type StoredTemplate } from './repository.ts'

export type ListedVersion = Pick<typeof t.$inferSelect, 'versione' | 'nome' | 'updated_at'>

/**
 * The versions of a template that are kept, the newest first; one of the product has none.
 * @throws ModelloNonTrovato
 */
export async function listVersions (db: Executor, id: string): Promise<ListedVersion[]> {
  await findTemplate(db, id)
  return await db.select({ versione: t.versione, nome: t.nome, updated_at: t.updated_at }).from(t)
    .where(eq(t.id, id)).orderBy(desc(t.versione))
}

/**
 * A template as it was in one of its versions.
 * @throws ModelloNonTrovato, VersioneNonTrovata
 */
export async function findVersion (db: Executor, id: string, versione: number): Promise<StoredTemplate> {
  const { predefinito } = await findTemplate(db, id)
  const [row] = await db.select().from(t).where(and(eq(t.id, id), eq(t.versione, versione)))
  if (!row) throw new VersioneNonTrovata()
  return { ...row, predefinito }
}
