import { Command, type HelpConfiguration } from 'commander'
import { SCOPES } from '#schemas/api-key.ts'
import { BOOKING_SORTS } from '#schemas/booking.ts'
import { Id } from '#schemas/common.ts'
import { MAINTENANCE_ALLOWANCES } from '#schemas/setting.ts'
import { isDay } from '#src/lib/time.ts'
import { VERSION } from '#src/lib/version.ts'
import { type Context, createContext, DEFAULT_URL } from './command-context.ts'
import { createAdmin, resetPassword } from './commands/admin.ts'
import { checkConnection, testCall, type Source, validate } from './commands/alloggiati.ts'
import { backup, restore } from './commands/backup.ts'
import { job } from './commands/jobs-command.ts'
import { key, login, logout } from './commands/login.ts'
import { beginMaintenance, endMaintenance, showMaintenance } from './commands/manutenzione.ts'
import { listBookings, showBooking } from './commands/prenotazioni.ts'
import { type Exit, EXIT, usageError } from './errors.ts'
import { HELP } from './help-texts.ts'
import { serverEnvironment } from './local-server.ts'
import type { Terminal } from './terminal.ts'
import { table } from './output.ts'

/* Italian texts for the help that Commander prints. */

const TITLES: Readonly<Record<string, string>> = {
  'Usage:': 'Uso:',
  'Arguments:': 'Argomenti:',
  'Options:': 'Opzioni:',
  'Global Options:': 'Opzioni globali:',
  'Commands:': 'Comandi:'
}

const inItalian: HelpConfiguration = {
  showGlobalOptions: true,
  styleTitle: (title) => TITLES[title] ?? title,
  styleUsage: (usage) => usage.replace('[options]', '[opzioni]').replace('[command]', '<comando>'),
  styleSubcommandTerm: (term) => term.replace('[options]', '[opzioni]')
}

/* Parsers of option values. A parser throws a usage error that names the option. */

const checked = (option: string, isGood: (text: string) => boolean, reason: string) => (text: string): string => {
  if (!isGood(text)) throw usageError(`${option}: «${text}» ${reason}`)
  return text
}

const day = (option: string) => checked(option, isDay, 'non è un giorno (AAAA-MM-GG)')

/** The name is empty when a script's variable is not set. */
const fileName = checked('file', (text) => text.trim() !== '', 'è vuoto')

const oneOf = (option: string, values: readonly string[]) =>
  checked(option, (text) => values.includes(text), `deve essere fra ${values.join(', ')}`)

const integer = (option: string, min: number, max: number) => {
  const isGood = (text: string) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max
  const read = checked(option, isGood, `non è un numero intero da ${min} a ${max}`)
  return (text: string): number => Number(read(text))
}

const identifier = (option: string) => integer(option, 1, Id.maximum ?? Infinity)

/** Parses an option that may be repeated. */
const someOf = (option: string, values: readonly string[]) => (text: string, before: string[] = []): string[] =>
  [...before, oneOf(option, values)(text)]

/** Wraps a command's action. The action gets the context first, then the arguments from Commander. */
type Run = <A extends unknown[]>(work: (context: Context, ...args: A) => Promise<Exit>) => (...args: A) => Promise<void>

/**
 * All commands with their options and help.
 * @param finish receives the exit code of the command
 */
export function createProgram (terminal: Terminal, finish: (exit: Exit) => void): Command {
  const program = new Command('locanda')
    .description('Prenotazioni, ospiti e schedine di un server Locanda, dalla riga di comando.')
    .option('--json', 'risultati in JSON su stdout, errori in JSON su stderr')
    .option('--url <url>', `indirizzo del server (altrimenti LOCANDA_URL, quello dell’ultimo accesso, ${DEFAULT_URL})`)
    .version(VERSION, '--version', 'mostra la versione')
    .helpOption('-h, --help', 'mostra l’aiuto')
    .helpCommand('help [comando]', 'mostra l’aiuto di un comando')
    .configureHelp(inItalian)
    .configureOutput({
      writeOut: (text) => { terminal.stdout.write(text) },
      // When the command is missing, Commander prints help to standard error.
      writeErr: (text) => { if (program.opts().json !== true) terminal.stderr.write(text) },
      // `run-command.ts` prints errors, in Italian.
      outputError: () => {},
      getOutHelpWidth: () => terminal.stdout.columns ?? 80,
      getErrHelpWidth: () => terminal.stderr.columns ?? 80
    })
    .exitOverride()
    .addHelpText('after', HELP.program)
  const run: Run = (work) =>
    async (...args) => { finish(await work(createContext(terminal, program.opts()), ...args)) }
  addSignIn(program, run)
  addBookings(program, run)
  addAlloggiati(program, run)
  addAdministration(program, run)
  addOperations(program, run)
  return program
}

function addSignIn (program: Command, run: Run): void {
  const signIn = (name: string, description: string, help: string) => command(program, name, description, help)
    .option('--email <e-mail>', 'l’indirizzo di chi accede; se manca, il comando lo chiede')

  signIn('login', 'Accede e salva una chiave per questo computer', HELP.login)
    .option('--chiave', 'senza password: con una chiave API creata sulle pagine del server')
    .action(run(login))
  command(program, 'logout', 'Revoca la chiave salvata e la elimina')
    .action(run(logout))
  signIn('key', 'Crea una chiave per un altro programma e la mostra una volta sola', HELP.key)
    .option('--giorni <n>', 'durata, da 1 a 365 giorni', integer('--giorni', 1, 365))
    .option('--scope <nome...>', `che cosa permette: ${SCOPES.join(', ')}`, someOf('--scope', SCOPES))
    .action(run(key))
}

function addBookings (program: Command, run: Run): void {
  const prenotazioni = group(program, 'prenotazioni', 'Le prenotazioni')
  command(prenotazioni, 'list', 'Elenca le prenotazioni')
    .option('--q <testo>', 'cerca in nome, codice ed e-mail')
    .option('--da <giorno>', 'arrivi da questo giorno (AAAA-MM-GG)', day('--da'))
    .option('--a <giorno>', 'arrivi fino a questo giorno compreso', day('--a'))
    .option('--limit <n>', 'numero massimo, da 1 a 1000; se manca, 100', integer('--limit', 1, 1000))
    .option('--sort <ordine>', `ordine: ${BOOKING_SORTS.join(', ')}`, oneOf('--sort', BOOKING_SORTS))
    .action(run(listBookings))
  command(prenotazioni, 'show', 'Mostra una prenotazione con i suoi ospiti')
    .argument('<id>', 'il numero della prenotazione', identifier('id'))
    .action(run(showBooking))
}

type SourceOptions = Omit<Source, 'file'>

function addAlloggiati (program: Command, run: Run): void {
  const alloggiati = group(program, 'alloggiati', 'Le schedine per la Polizia di Stato')
  const withSource = (name: string, description: string, help: string) => command(alloggiati, name, description, help)
    .argument('[file]', 'file JSON con «ospiti» e «prenotazione»; «-» per lo standard input')
    .option(
      '--prenotazione <id>',
      'gli ospiti salvati di questa prenotazione, al posto di un file',
      identifier('--prenotazione')
    )
    .option(
      '--appartamento <n>',
      'con --prenotazione: l’appartamento, per gli account «Gestione Appartamenti»',
      integer('--appartamento', 0, 999_999)
    )

  command(alloggiati, 'check', 'Prova la connessione del server ad Alloggiati Web')
    .action(run(checkConnection))
  withSource('valida', 'Controlla le schedine con le regole ufficiali, senza inviarle', HELP.validate)
    .action(run((context, file: string | undefined, options: SourceOptions) =>
      validate(context, sourceOf(file, options))))
  withSource('invio', 'Fa controllare le schedine ad Alloggiati Web, senza registrarle (--test)', HELP.testCall)
    .requiredOption('--test', 'soltanto una prova: necessaria, gli invii definitivi si fanno nell’applicazione')
    .action(run((context, file: string | undefined, options: SourceOptions) =>
      testCall(context, sourceOf(file, options))))
}

function sourceOf (file: string | undefined, { prenotazione, appartamento }: SourceOptions): Source {
  if ((file === undefined) === (prenotazione === undefined)) {
    throw usageError('Indicare un file (o «-»), oppure --prenotazione: uno dei due')
  }
  if (appartamento !== undefined && prenotazione === undefined) {
    throw usageError('--appartamento richiede --prenotazione. In un file indicare «prenotazione.id_appartamento»')
  }
  return { file, prenotazione, appartamento }
}

function addAdministration (program: Command, run: Run): void {
  command(program, 'job', 'Avvia un lavoro periodico e ne aspetta la fine; senza nome, elenca i lavori', HELP.job)
    .argument('[nome]', 'il nome del lavoro')
    .action(run(job))

  const manutenzione = group(program, 'manutenzione', 'La manutenzione: da solo, dice se è in corso', HELP.maintenance)
    .action(run((context) => showMaintenance(context)))
  command(manutenzione, 'on', 'Comincia la manutenzione, o cambia quella in corso')
    .option('--messaggio <testo>', 'il testo mostrato durante la manutenzione')
    .option(
      '--consenti <nome...>',
      `che cosa resta consentito: ${MAINTENANCE_ALLOWANCES.join(', ')}`,
      someOf('--consenti', MAINTENANCE_ALLOWANCES)
    )
    .action(run(beginMaintenance))
  command(manutenzione, 'off', 'Termina la manutenzione')
    .option('--server', 'sulla macchina del server, con il suo ambiente, senza accesso')
    .action(run(async (context, options: { server?: boolean }) => {
      if (options.server === true && program.opts().url !== undefined) {
        throw usageError('--server usa l’indirizzo su cui ascolta il server di questo ambiente: --url non serve')
      }
      return await endMaintenance(context, options)
    }))

  const admin = group(program, 'admin', 'Gli account, dalla macchina del server e con il suo ambiente', HELP.admin)
  const forAccount = (name: string, description: string) => command(admin, name, description)
    .requiredOption('--email <e-mail>', 'l’indirizzo dell’account')
    .option('--genera', 'genera la password e la mostra una volta sola')
  forAccount('create', 'Crea un amministratore')
    .action(run(createAdmin))
  forAccount('reset-password', 'Dà una nuova password a un utente e chiude le sue sessioni')
    .option('--rimuovi-secondo-fattore', 'toglie anche i secondi fattori, i codici di recupero e le passkey')
    .action(run(resetPassword))
}

/** Commands for the server's machine, which use its environment. */
function addOperations (program: Command, run: Run): void {
  command(program, 'service-key', 'Mostra la chiave di servizio del server (sulla sua macchina)', HELP.serviceKey)
    .action(run((context) => printServiceKey(context)))
  command(program, 'backup', 'Salva database e file in un file cifrato (sulla macchina del server)', HELP.backup)
    .argument('<file>', 'il file da scrivere: se è già un salvataggio, viene sostituito alla fine', fileName)
    .option('--verify', 'legge tutto un salvataggio e lo controlla, senza il server')
    .action(run(backup))
  command(program, 'restore', 'Ripristina un salvataggio in un database nuovo, sulla macchina del server', HELP.restore)
    .argument('<file>', 'il salvataggio', fileName)
    .action(run(restore))
  command(program, 'doctor', 'Controlla ciò che serve al server (sulla sua macchina)', HELP.doctor)
    .action(run((context) => doctor(context)))
}

/**
 * Prints the service key, with all rights, of the server of this environment. It calls no server: a person who can read
 * the server's secrets can derive the key.
 */
async function printServiceKey ({ terminal: { env }, out }: Context): Promise<Exit> {
  const { ownServiceKey } = await serverEnvironment(env)
  out.note('Questa chiave ha tutti i diritti e non si può revocare: tenerla segreta.')
  out.result(ownServiceKey, { serviceKey: ownServiceKey })
  return EXIT.ok
}

/** Runs all checks of this installation, and prints the findings. Exits with 1 when a check fails. */
async function doctor ({ terminal: { env }, out }: Context): Promise<Exit> {
  const { examine } = await import('#src/backup/index.ts')
  const findings = await examine(env)
  const data = findings.map(({ level, subject, text }) => ({ esito: level, oggetto: subject, testo: text }))
  out.result(table([{ title: 'esito' }, { title: 'che cosa' }, { title: '' }], data.map(Object.values)), { data })
  return findings.some(({ level }) => level === 'errore') ? EXIT.failed : EXIT.ok
}

function command (parent: Command, name: string, description: string, help = ''): Command {
  return parent
    .command(name)
    .description(description)
    .helpOption('-h, --help', 'mostra l’aiuto')
    .addHelpText('after', help)
}

function group (parent: Command, name: string, description: string, help = ''): Command {
  return command(parent, name, description, help).helpCommand(false)
}
