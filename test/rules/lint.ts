import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { ESLint } from 'eslint'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Options { project?: string }

/**
 * Returns a function that lints text as if it were in a file, with the project's settings. It reports only the given
 * rules, ordered by line.
 * @param project a `tsconfig.json` with the file, for type-aware rules. Without it the file need not exist
 */
export function finder (rules: string[], { project }: Options = {}) {
  const parserOptions = {
    projectService: false,
    // With `CI` set, the parser would read the file on disk instead of the text.
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

/** Like `finder`, but returns only the messages. */
export function linter (rules: string[], options?: Options) {
  const find = finder(rules, options)
  return async (filePath: string, text: string) => (await find(filePath, text)).map(({ message }) => message)
}

/**
 * Lints a text with extra lines appended, in one run. It returns the findings of the text and of each line. Linting
 * each line separately would lint the whole text for every line.
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

/** A project file with an extra line appended. */
export async function withLine (path: string, line: string): Promise<string> {
  return `${await readFile(`${ROOT}/${path}`, 'utf8')}\n${line}\n`
}
