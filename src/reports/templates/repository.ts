import { and, asc, desc, eq, getTableColumns, isNull, lte, sql } from 'drizzle-orm'
import { pdf_template_versions as versions, pdf_templates as templates } from '#drizzle/tables/reports.ts'
import { TEMPLATE_ID, type TemplateSaving } from '#schemas/template.ts'
import { builtInTemplates, type BuiltIn } from '#src/pdf/index.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { ModelloCambiato, ModelloNonTrovato, ModelloPredefinito, VersioneNonTrovata } from '../errors.ts'

/** A template, either saved or built in. */
export interface StoredTemplate {
  id: string
  nome: string
  template: string
  esempio: Record<string, unknown> | null
  /** The variables that the template uses. Null for a built-in template before they are determined. */
  variabili: string[] | null
  predefinito: boolean
  versione: number
  updated_at: Date | null
}

/** The fields of a template in a list. */
type ListedTemplate = Pick<StoredTemplate, 'id' | 'nome' | 'predefinito' | 'versione' | 'updated_at'>

/** Maximum versions of a template, including the current one. Older versions are deleted. */
const VERSIONS_KEPT = 50

/** The versions that a change expects. A missing template has no version. */
interface Expected {
  /** Versions that may be changed. Undefined: any version, or a missing template. */
  versions?: ReadonlySet<number> | undefined
  /** The template must not exist. */
  isNew?: boolean
}

const { id, nome, versione, updated_at } = getTableColumns(templates)

/** All templates: first the built-in ones, then the saved ones by name. */
export async function listTemplates (db: Executor): Promise<ListedTemplate[]> {
  const saved = await db.select({ id, nome, versione, updated_at }).from(templates)
    .where(isNull(templates.deleted_at)).orderBy(asc(templates.nome), asc(templates.id))
  return [...(await builtInTemplates()).map(asBuiltIn), ...saved.map((row) => ({ ...row, predefinito: false }))]
}

/** @throws ModelloNonTrovato */
export async function findTemplate (db: Executor, id: string): Promise<StoredTemplate> {
  const builtIn = (await builtInTemplates()).find((each) => each.id === id)
  if (builtIn) return asBuiltIn(builtIn)
  const [row] = TEMPLATE_ID.test(id) ? await db.select().from(templates).where(present(id)) : []
  if (!row) throw new ModelloNonTrovato()
  return asSaved(row)
}

/** @throws ModelloPredefinito */
export async function checkChangeable (id: string): Promise<void> {
  if ((await builtInTemplates()).some((each) => each.id === id)) throw new ModelloPredefinito()
}

/**
 * Saves a template under its id, and keeps the version that it replaces.
 * @throws ModelloCambiato (412) when the version is not the expected one
 */
export async function saveTemplate (
  tx: Transaction,
  id: string,
  { nome, template, esempio, variabili }: TemplateSaving & { variabili: string[] },
  expected: Expected
): Promise<StoredTemplate & { isNew: boolean }> {
  // The row lock lets changes of one template, including concurrent creations, run one after the other.
  await tx.insert(templates).values({ id, nome, template, variabili, versione: 0, deleted_at: sql`now()` })
    .onConflictDoNothing()
  const before = await lock(tx, id)
  check(before, expected)
  const [row] = await tx.update(templates).set({
    nome,
    template,
    esempio: esempio ?? null,
    variabili,
    versione: sql`${templates.versione} + 1`,
    created_at: before === undefined ? sql`now()` : undefined,
    updated_at: sql`now()`,
    deleted_at: null
  }).where(eq(templates.id, id)).returning()
  await keepVersion(tx, row!)
  return { ...asSaved(row!), isNew: before === undefined }
}

/** Deletes a template with its versions. @throws ModelloNonTrovato, ModelloCambiato (412) */
export async function removeTemplate (tx: Transaction, id: string, expected: Expected): Promise<void> {
  const before = await lock(tx, id)
  check(before, expected)
  if (!before) throw new ModelloNonTrovato()
  await tx.delete(versions).where(eq(versions.id, id))
  await tx.update(templates).set({ nome: '', template: '', esempio: null, variabili: [], deleted_at: sql`now()` })
    .where(eq(templates.id, id))
}

type ListedVersion = Pick<typeof versions.$inferSelect, 'versione' | 'nome' | 'updated_at'>

/**
 * The stored versions of a template, newest first. A built-in template has none.
 * @throws ModelloNonTrovato
 */
export async function listVersions (db: Executor, id: string): Promise<ListedVersion[]> {
  await findTemplate(db, id)
  const { versione, nome, updated_at } = versions
  return await db.select({ versione, nome, updated_at }).from(versions)
    .where(eq(versions.id, id)).orderBy(desc(versions.versione))
}

/** A template in one of its versions. @throws ModelloNonTrovato, VersioneNonTrovata */
export async function findVersion (db: Executor, id: string, versione: number): Promise<StoredTemplate> {
  const { predefinito } = await findTemplate(db, id)
  const [row] = await db.select().from(versions).where(and(eq(versions.id, id), eq(versions.versione, versione)))
  if (!row) throw new VersioneNonTrovata()
  return { ...row, predefinito }
}

function present (id: string) {
  return and(eq(templates.id, id), isNull(templates.deleted_at))
}

/** Locks the template and returns its current version. Undefined when the template does not exist. */
async function lock (tx: Transaction, id: string): Promise<number | undefined> {
  const [row] = await tx.select({ versione, deleted_at: templates.deleted_at }).from(templates)
    .where(eq(templates.id, id)).for('update')
  return row?.deleted_at === null ? row.versione : undefined
}

function check (before: number | undefined, { versions, isNew = false }: Expected): void {
  const isExpected = versions === undefined || (before !== undefined && versions.has(before))
  if (!isExpected || (isNew && before !== undefined)) throw new ModelloCambiato()
}

async function keepVersion (
  tx: Transaction, { id, versione, nome, template, esempio, variabili, updated_at }: typeof templates.$inferSelect
): Promise<void> {
  await tx.insert(versions).values({ id, versione, nome, template, esempio, variabili, updated_at })
  await tx.delete(versions).where(and(eq(versions.id, id), lte(versions.versione, versione - VERSIONS_KEPT)))
}

function asBuiltIn (builtIn: BuiltIn): StoredTemplate {
  return { ...builtIn, esempio: null, variabili: null, predefinito: true, versione: 0, updated_at: null }
}

function asSaved ({ created_at: _, deleted_at: _gone, ...row }: typeof templates.$inferSelect): StoredTemplate {
  return { ...row, predefinito: false }
}
