import { CommanderError } from 'commander'
import { CliError, EXIT, usageError, type Exit } from './errors.ts'
import { createOutput } from './output.ts'
import { createProgram } from './program.ts'
import type { Terminal } from './terminal.ts'

/**
 * Runs one command line, and reports an error in one line.
 * @param args without the program's name
 * @returns the exit code
 */
export async function run (args: readonly string[], terminal: Terminal): Promise<Exit> {
  let exit: Exit = EXIT.ok
  const program = createProgram(terminal, (code) => { exit = code })
  try {
    await program.parseAsync(args, { from: 'user' })
    return exit
  } catch (err) {
    // Commander also throws after it has printed help or the version.
    if (err instanceof CommanderError && err.exitCode === 0) return EXIT.ok
    const problem = problemOf(err)
    const json = program.opts().json === true
    const helpShown = err instanceof CommanderError && err.code === 'commander.help' && !json
    if (!helpShown) createOutput(terminal, json).fail(problem)
    return problem.exit
  }
}

function problemOf (err: unknown): CliError {
  if (err instanceof CliError) return err
  if (err instanceof CommanderError) return usageProblem(err)
  const message = err instanceof Error ? err.message : String(err)
  return new CliError(EXIT.failed, 'ERRORE_IMPREVISTO', `Errore imprevisto: ${message}`)
}

const PROBLEMS: Readonly<Record<string, string>> = {
  'commander.help': 'Manca il comando',
  'commander.excessArguments': 'Troppi argomenti',
  'commander.unknownOption': 'Opzione sconosciuta',
  'commander.unknownCommand': 'Comando sconosciuto',
  'commander.missingMandatoryOptionValue': 'Manca l’opzione',
  'commander.missingArgument': 'Manca l’argomento',
  'commander.optionMissingArgument': 'Manca il valore dell’opzione'
}

/**
 * A usage error in one line. Commander's message quotes the invalid part. Its second line may suggest a correction.
 */
function usageProblem ({ code, message }: CommanderError): CliError {
  const quoted = /'(.*)'/.exec(message)?.[1]
  const hint = /\(Did you mean (?:one of )?(.*)\?\)/.exec(message)?.[1]
  const atFault = quoted === undefined || code === 'commander.excessArguments' ? '' : ` «${quoted}»`
  return usageError(`${PROBLEMS[code] ?? 'Uso non valido'}${atFault}${hint === undefined ? '' : `: forse ${hint}?`}`)
}
