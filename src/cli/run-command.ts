import { CommanderError } from 'commander'
import { runningVersion, VERSION } from '#src/lib/version.ts'
import { CliError, EXIT, usageError, type Exit } from './errors.ts'
import { usageProblem } from './italian.ts'
import { createOutput } from './output.ts'
import { createProgram } from './program.ts'
import type { Terminal } from './terminal.ts'

/**
 * Runs one command line, and says what went wrong in one line.
 * @param args without the program's name
 * @returns the exit code
 */
export async function run (args: readonly string[], terminal: Terminal): Promise<Exit> {
  let exit: Exit = EXIT.ok
  // Git is asked only where somebody wants to know.
  const version = args.includes('--version') ? await versionHere() : VERSION
  const program = createProgram(terminal, version, (code) => { exit = code })
  try {
    await program.parseAsync(args, { from: 'user' })
    return exit
  } catch (err) {
    // Help and version end this way as well.
    if (err instanceof CommanderError && err.exitCode === 0) return EXIT.ok
    const problem = problemOf(err)
    const json = program.opts().json === true
    const helpShown = err instanceof CommanderError && err.code === 'commander.help' && !json
    if (!helpShown) createOutput(terminal, json).fail(problem)
    return problem.exit
  }
}

function versionHere (): Promise<string> {
  return runningVersion().then(({ version }) => version, () => VERSION)
}

function problemOf (err: unknown): CliError {
  if (err instanceof CliError) return err
  if (err instanceof CommanderError) {
    return err.code === 'commander.help' ? usageError('Manca il comando') : usageProblem(err)
  }
  return new CliError(
    EXIT.failed,
    'ERRORE_IMPREVISTO',
    `Errore imprevisto: ${err instanceof Error ? err.message : String(err)}`
  )
}
