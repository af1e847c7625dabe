import type { CommanderError, HelpConfiguration } from 'commander'
import { usageError, type CliError } from './errors.ts'

/* What the command-line library says by itself, in Italian. */

const TITLES: Readonly<Record<string, string>> = {
  'Usage:': 'Uso:',
  'Arguments:': 'Argomenti:',
  'Options:': 'Opzioni:',
  'Global Options:': 'Opzioni globali:',
  'Commands:': 'Comandi:'
}

export const helpConfiguration: HelpConfiguration = {
  showGlobalOptions: true,
  styleTitle: (title) => TITLES[title] ?? title,
  styleUsage: (usage) => usage.replace('[options]', '[opzioni]').replace('[command]', '<comando>'),
  styleSubcommandTerm: (term) => term.replace('[options]', '[opzioni]')
}

const PROBLEMS: Readonly<Record<string, string>> = {
  'commander.unknownOption': 'Opzione sconosciuta',
  'commander.unknownCommand': 'Comando sconosciuto',
  'commander.missingMandatoryOptionValue': 'Manca l\'opzione',
  'commander.missingArgument': 'Manca l\'argomento',
  'commander.optionMissingArgument': 'Manca il valore dell\'opzione'
}

/**
 * A wrong use, told in one line. The library's messages hold what is at fault in quotes, and what may have been meant
 * in a second line.
 */
export function usageProblem ({ code, message }: CommanderError): CliError {
  const problem = PROBLEMS[code]
  if (problem === undefined) {
    return usageError(code === 'commander.excessArguments' ? 'Troppi argomenti' : 'Uso non valido')
  }
  const quoted = /'(.*)'/.exec(message)?.[1] ?? ''
  const meant = /\(Did you mean (?:one of )?(.*)\?\)/.exec(message)?.[1]
  return usageError(`${problem} «${quoted}»${meant === undefined ? '' : `: forse ${meant}?`}`)
}
