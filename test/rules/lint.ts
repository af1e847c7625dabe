import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { ESLint } from 'eslint'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Options { project?: string }

/**
 * Lints text under the project's own settings as if it stood in a file, and gives what the rules named find, in the
 * order of the lines.
 * @param project a `tsconfig.json` with the file, for rules that ask for types; without one the file need not exist
 */
export function finder (rules: string[], { project }: Options = {}) {
  const parserOptions = {
    projectService: false,
    // Where `CI` is set, the parser would take the file as it stands on the disk, not the text.
    disallowAutomaticSingleRunInference: true,
    ...project === undefined ? {} : { project }
  }
  const eslint = new ESLint({
    cwd: ROOT,
    overrideConfigFile: '.eslint.config.mjs',
    overrideConfig: { files: ['**/*.ts'], languageOptions: { parserOptions } },
    ruleFilter: ({ ruleId }) => rules.includes(ruleId)
  })
  return async (filePath: string, text: string): Promise<{ line: number, message: string }[]> => {
    const [result] = await eslint.lintText(text, { filePath })
    return result?.messages ?? []
  }
}

/** As `finder`, of what is found the messages alone. */
export function linter (rules: string[], options?: Options) {
  const find = finder(rules, options)
  return async (filePath: string, text: string) => (await find(filePath, text)).map(({ message }) => message)
}

/**
 * Lints a text with lines more at its end, in one go: what is said of the text, and of each of the lines. A lint of
 * each line alone would take as long as that of all.
 */
export async function findInLines (
  find: ReturnType<typeof finder>, file: string, text: string, lines: readonly string[]
): Promise<{ ofText: string[], ofLines: string[][] }> {
  const found = await find(file, [text, ...lines, ''].join('\n'))
  const before = text.split('\n').length
  const at = (wanted: (line: number) => boolean) =>
    found.filter(({ line }) => wanted(line)).map(({ message }) => message)
  return {
    ofText: at((line) => line <= before),
    ofLines: lines.map((_, index) => at((line) => line === before + 1 + index))
  }
}

/** A file of the project with a line more at its end. */
export async function withLine (path: string, line: string): Promise<string> {
  return `${await readFile(`${ROOT}/${path}`, 'utf8')}\n${line}\n`
}
