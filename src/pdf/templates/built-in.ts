import { readFile } from 'node:fs/promises'

/** The built-in template of the financial report, as the contract names it. */
export const REPORT_TEMPLATE = 'd2577b23c4d40496'

/** The built-in template of the welcome letter. */
export const LETTER_TEMPLATE = 'b7c41f0a92d85e36'

/** A template of the product. */
export interface BuiltIn { id: string, nome: string, template: string }

const FILES = [
  { id: REPORT_TEMPLATE, nome: 'Report finanziario', file: 'report' },
  { id: LETTER_TEMPLATE, nome: 'Lettera di benvenuto', file: 'welcome-letter' }
] as const

/** The code of a template of the product. */
export function readBuiltIn (id: typeof FILES[number]['id']): Promise<string> {
  const { file } = FILES.find((each) => each.id === id)!
  return readFile(new URL(`${file}.liquid`, import.meta.url), 'utf8')
}

/** The templates of the product, in a fixed order. */
export function builtInTemplates (): Promise<BuiltIn[]> {
  return Promise.all(FILES.map(async ({ id, nome }) => ({ id, nome, template: await readBuiltIn(id) })))
}
