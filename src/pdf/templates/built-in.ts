import { readFile } from 'node:fs/promises'

/** The built-in template of the financial report. Its id is part of the API. */
export const REPORT_TEMPLATE = 'd2577b23c4d40496'

/** The built-in template of the welcome letter. */
export const LETTER_TEMPLATE = 'b7c41f0a92d85e36'

/** A built-in template. */
export interface BuiltIn { id: string, nome: string, template: string }

const FILES = [
  { id: REPORT_TEMPLATE, nome: 'Report finanziario', file: 'report' },
  { id: LETTER_TEMPLATE, nome: 'Lettera di benvenuto', file: 'welcome-letter' }
] as const

/** The source of a built-in template. */
export function readBuiltIn (id: typeof FILES[number]['id']): Promise<string> {
  const { file } = FILES.find((each) => each.id === id)!
  return readFile(new URL(`${file}.liquid`, import.meta.url), 'utf8')
}

/** All built-in templates, in a fixed order. */
export function builtInTemplates (): Promise<BuiltIn[]> {
  return Promise.all(FILES.map(async ({ id, nome }) => ({ id, nome, template: await readBuiltIn(id) })))
}
