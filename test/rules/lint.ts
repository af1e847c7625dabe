import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { ESLint } from 'eslint'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Lints text under the project's own settings as if it stood in a file, and gives the messages of the rules named.
 * @param project a `tsconfig.json` with the file, for rules that ask for types; without one the file need not exist
 */
export function linter (rules: string[], { project }: { project?: string } = {}) {
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
  return async (filePath: string, text: string): Promise<string[]> => {
    const [result] = await eslint.lintText(text, { filePath })
    return (result?.messages ?? []).map(({ message }) => message)
  }
}

/** A file of the project with a line more at its end. */
export async function withLine (path: string, line: string): Promise<string> {
  return `${await readFile(`${ROOT}/${path}`, 'utf8')}\n${line}\n`
}
