import { asc, eq, sql } from 'drizzle-orm'
import { pdf_templates as templates } from '#drizzle/tables/reports.ts'
import { TEMPLATE_ID, type TemplateSaving } from '#schemas/template.ts'
import { builtInTemplates, type BuiltIn } from '#src/pdf/index.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import { ModelloCambiato, ModelloNonTrovato, ModelloPredefinito } from '../errors.ts'

/** A template, saved or of the product. */
export interface StoredTemplate {
  id: string
  nome: string
  template: string
  esempio: Record<string, unknown> | null
  /** What it wants of the data; null: not known, of a template of the product. */
  variabili: string[] | null
  predefinito: boolean
  versione: number
  updated_at: Date | null
}

/** All templates: those of the product, then the saved ones by their names. */
export async function listTemplates (db: Executor): Promise<StoredTemplate[]> {
  const saved = await db.select().from(templates).orderBy(asc(templates.nome), asc(templates.id))
  return [...(await builtInTemplates()).map(ofProduct), ...saved.map(ofPeople)]
}

/** @throws ModelloNonTrovato */
export async function findTemplate (db: Executor, id: string): Promise<StoredTemplate> {
  const builtIn = (await builtInTemplates()).find((each) => each.id === id)
  if (builtIn) return ofProduct(builtIn)
  const [row] = TEMPLATE_ID.test(id) ? await db.select().from(templates).where(eq(templates.id, id)) : []
  if (!row) throw new ModelloNonTrovato()
  return ofPeople(row)
}

/** @throws ModelloPredefinito */
export async function checkChangeable (id: string): Promise<void> {
  if ((await builtInTemplates()).some((each) => each.id === id)) throw new ModelloPredefinito()
}

/**
 * Saves a template under its id, new or in the place of the one before.
 * @param expected versions that may be replaced; undefined: any, or none
 * @throws ModelloCambiato (412) where there is another version, or none
 */
export async function saveTemplate (
  tx: Transaction,
  id: string,
  { nome, template, esempio, variabili }: TemplateSaving & { variabili: string[] },
  expected: ReadonlySet<number> | undefined
): Promise<StoredTemplate> {
  await checkVersion(tx, id, expected)
  const values = { nome, template, esempio: esempio ?? null, variabili }
  const [row] = await tx.insert(templates).values({ id, ...values }).onConflictDoUpdate({
    target: templates.id,
    set: { ...values, versione: sql`${templates.versione} + 1`, updated_at: sql`now()` }
  }).returning()
  return ofPeople(row!)
}

/** @throws ModelloNonTrovato, ModelloCambiato (412) */
export async function removeTemplate (
  tx: Transaction, id: string, expected: ReadonlySet<number> | undefined
): Promise<void> {
  await checkVersion(tx, id, expected)
  const gone = await tx.delete(templates).where(eq(templates.id, id)).returning({ id: templates.id })
  if (gone.length === 0) throw new ModelloNonTrovato()
}

async function checkVersion (tx: Transaction, id: string, expected: ReadonlySet<number> | undefined): Promise<void> {
  if (expected === undefined) return
  const [row] = await tx.select({ versione: templates.versione }).from(templates)
    .where(eq(templates.id, id)).for('update')
  if (!row || !expected.has(row.versione)) throw new ModelloCambiato()
}

function ofProduct (builtIn: BuiltIn): StoredTemplate {
  return { ...builtIn, esempio: null, variabili: null, predefinito: true, versione: 0, updated_at: null }
}

function ofPeople ({ created_at: _, ...row }: typeof templates.$inferSelect): StoredTemplate {
  return { ...row, predefinito: false }
}
