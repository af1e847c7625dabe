import { Command } from 'commander'
import { SCOPES } from '#schemas/api-key.ts'
import { BOOKING_SORTS } from '#schemas/booking.ts'
import { Id } from '#schemas/common.ts'
import { MAINTENANCE_ALLOWANCES } from '#schemas/setting.ts'
import { isDay } from '#src/lib/time.ts'
import { DEFAULT_URL } from './address.ts'
import { createAdmin, resetPassword } from './commands/admin.ts'
import { checkConnection, rehearse, type Source, validate } from './commands/alloggiati.ts'
import { backup, restore } from './commands/backup.ts'
import { job } from './commands/job.ts'
import { key } from './commands/key.ts'
import { login, logout } from './commands/login.ts'
import { beginMaintenance, endMaintenance, showMaintenance } from './commands/manutenzione.ts'
import { listBookings, showBooking } from './commands/prenotazioni.ts'
import { type Context, createContext } from './context.ts'
import { type Exit, EXIT, usageError } from './errors.ts'
import {
  ADMIN_HELP, BACKUP_HELP, DOCTOR_HELP, HELP, JOB_HELP, KEY_HELP, LIST_HELP, LOGIN_HELP, MAINTENANCE_HELP,
  REHEARSE_HELP, RESTORE_HELP, SERVICE_KEY_HELP, SHOW_HELP, VALIDATE_HELP
} from './help-texts.ts'
import { helpConfiguration } from './italian.ts'
import { serverEnvironment } from './server-environment.ts'
import { table } from './table.ts'
import type { Terminal } from './terminal.ts'

/* Readers of option values, for `commander`: what does not fit is a wrong use that names the option. */

function day (option: string): (text: string) => string {
  return (text) => {
    if (!isDay(text)) throw usageError(`${option}: «${text}» non è un giorno (AAAA-MM-GG)`)
    return text
  }
}

function integer (option: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw usageError(`${option}: «${text}» non è un numero intero da ${min} a ${max}`)
    }
    return value
  }
}

function oneOf (option: string, values: readonly string[]): (text: string) => string {
  return (text) => {
    if (!values.includes(text)) throw usageError(`${option}: «${text}» non è fra ${values.join(', ')}`)
    return text
  }
}

/** For an option that may be given more than once. */
function someOf (option: string, values: readonly string[]): (text: string, before?: string[]) => string[] {
  const read = oneOf(option, values)
  return (text, before = []) => [...before, read(text)]
}

/**
 * The key of the server whose environment this is, with all rights. No server is asked: a person who can read the
 * server's secrets can make it.
 */
async function printServiceKey ({ terminal: { env }, out }: Context): Promise<Exit> {
  const { ownServiceKey } = await serverEnvironment(env)
  out.note('Questa chiave ha tutti i diritti e non si può revocare: tenerla segreta.')
  out.result(ownServiceKey, { serviceKey: ownServiceKey })
  return EXIT.ok
}

/** Says of everything that the installation of this environment needs whether it is well; 1 where something is not. */
async function doctor ({ terminal: { env }, out }: Context): Promise<Exit> {
  const { examine } = await import('#src/backup/index.ts')
  const findings = await examine(env)
  out.result(table([{ title: 'esito' }, { title: 'che cosa' }, { title: '' }],
    findings.map(({ level, subject, text }) => [level, subject, text])), {
    data: findings.map(({ level, subject, text }) => ({ esito: level, oggetto: subject, testo: text }))
  })
  return findings.some(({ level }) => level === 'errore') ? EXIT.failed : EXIT.ok
}

type SourceOptions = Omit<Source, 'file'>

/**
 * All commands, their options and their help.
 * @param finish told the exit code of the command that was run
 */
export function createProgram (terminal: Terminal, version: string, finish: (exit: Exit) => void): Command {
  const program = new Command('locanda')
    .description('Prenotazioni, ospiti e schedine di un server Locanda, dalla riga di comando.')
    .option('--json', 'risultati in JSON su stdout, errori in JSON su stderr')
    .option('--url <url>', `indirizzo del server (altrimenti LOCANDA_URL, quello dell'ultimo accesso, ${DEFAULT_URL})`)
    .version(version, '--version', 'mostra la versione')
    .helpOption('-h, --help', 'mostra l\'aiuto')
    .helpCommand('help [comando]', 'mostra l\'aiuto di un comando')
    .configureHelp(helpConfiguration)
    .configureOutput({
      writeOut: (text) => { terminal.stdout.write(text) },
      // Help that was not asked for: a command is missing.
      writeErr: (text) => { if (program.opts().json !== true) terminal.stderr.write(text) },
      // The caller of this function writes the message, in Italian.
      outputError: () => {},
      getOutHelpWidth: () => terminal.stdout.columns ?? 80,
      getErrHelpWidth: () => terminal.stderr.columns ?? 80
    })
    .exitOverride()
    .addHelpText('after', HELP)

  /** A command's action: its arguments as the library passes them, after what it works with. */
  const run = <A extends unknown[]>(work: (context: Context, ...args: A) => Promise<Exit>) =>
    async (...args: A) => { finish(await work(createContext(terminal, program.opts()), ...args)) }

  command(program, 'login', 'Accede e salva una chiave per questo computer', LOGIN_HELP)
    .option('--email <e-mail>', 'chi accede; senza, viene chiesto')
    .option('--browser', 'accede con il browser, sulle pagine del server')
    .action(run(login))

  command(program, 'logout', 'Revoca la chiave salvata e la elimina')
    .action(run(logout))

  command(program, 'key', 'Crea una chiave per un altro programma e la mostra una volta sola', KEY_HELP)
    .option('--email <e-mail>', 'chi accede; senza, viene chiesto')
    .option('--browser', 'accede con il browser, sulle pagine del server')
    .option('--giorni <n>', 'durata, da 1 a 365 giorni', integer('--giorni', 1, 365))
    .option('--scope <nome...>', `che cosa permette: ${SCOPES.join(', ')}`, someOf('--scope', SCOPES))
    .action(run(key))

  const prenotazioni = group(program, 'prenotazioni', 'Le prenotazioni')
  command(prenotazioni, 'list', 'Elenca le prenotazioni', LIST_HELP)
    .option('--q <testo>', 'cerca in nome, codice ed e-mail')
    .option('--da <giorno>', 'arrivi da questo giorno (AAAA-MM-GG)', day('--da'))
    .option('--a <giorno>', 'arrivi fino a questo giorno compreso', day('--a'))
    .option('--limit <n>', 'quante al massimo, da 1 a 1000; senza, 100', integer('--limit', 1, 1000))
    .option('--sort <ordine>', `ordine: ${BOOKING_SORTS.join(', ')}`, oneOf('--sort', BOOKING_SORTS))
    .action(run(listBookings))
  command(prenotazioni, 'show', 'Mostra una prenotazione con i suoi ospiti', SHOW_HELP)
    .argument('<id>', 'il numero della prenotazione', identifier('id'))
    .action(run(showBooking))

  const alloggiati = group(program, 'alloggiati', 'Le schedine per la Polizia di Stato')
  command(alloggiati, 'check', 'Prova la connessione del server ad Alloggiati Web')
    .action(run(checkConnection))
  fromSource(
    command(alloggiati, 'valida', 'Controlla le schedine con le regole ufficiali, senza inviarle', VALIDATE_HELP)
  ).action(run((context, file: string | undefined, options: SourceOptions) => validate(context, source(file, options))))
  fromSource(
    command(
      alloggiati,
      'invio',
      'Fa controllare le schedine ad Alloggiati Web, senza registrarle (--test)',
      REHEARSE_HELP
    )
  )
    .option('--test', "soltanto una prova: necessaria, gli invii definitivi si fanno nell'applicazione")
    .action(
      run(async (context, file: string | undefined, { test, ...options }: SourceOptions & { test?: boolean }) => {
        if (test !== true) {
          throw usageError(
            "Da qui si fanno soltanto prove, con --test: l'invio definitivo non si può annullare e si fa " +
              "nell'applicazione"
          )
        }
        return rehearse(context, source(file, options))
      })
    )

  command(program, 'job', 'Avvia un lavoro periodico e ne aspetta la fine; senza nome, li elenca', JOB_HELP)
    .argument('[nome]', 'il nome del lavoro')
    .action(run(job))

  const manutenzione = group(program, 'manutenzione', 'La manutenzione: da solo, dice se è in corso', MAINTENANCE_HELP)
    .action(run((context) => showMaintenance(context)))
  command(manutenzione, 'on', 'Comincia la manutenzione, o cambia quella in corso')
    .option('--messaggio <testo>', 'che cosa legge chi trova il servizio in manutenzione')
    .option(
      '--consenti <nome...>',
      `che cosa continua: ${MAINTENANCE_ALLOWANCES.join(', ')}`,
      someOf('--consenti', MAINTENANCE_ALLOWANCES)
    )
    .action(run(beginMaintenance))
  command(manutenzione, 'off', 'Termina la manutenzione')
    .option('--server', 'sulla macchina del server, dal suo ambiente: senza alcun accesso')
    .action(run(async (context, options: { server?: boolean }) => {
      if (options.server === true && program.opts().url !== undefined) {
        throw usageError("--server usa l'indirizzo su cui ascolta il server di questo ambiente: --url non serve")
      }
      return endMaintenance(context, options)
    }))

  const admin = group(program, 'admin', 'Gli account, dalla macchina del server e con il suo ambiente', ADMIN_HELP)
  command(admin, 'create', 'Crea un amministratore')
    .requiredOption('--email <e-mail>', 'il suo indirizzo')
    .option('--genera', 'inventa la password e la mostra una volta sola')
    .action(run(createAdmin))
  command(admin, 'reset-password', 'Dà una nuova password a un utente e chiude le sue sessioni')
    .requiredOption('--email <e-mail>', 'il suo indirizzo')
    .option('--genera', 'inventa la password e la mostra una volta sola')
    .option('--rimuovi-secondo-fattore', 'toglie anche i secondi fattori, i codici di recupero e le passkey')
    .action(run(resetPassword))

  command(program, 'service-key', 'Mostra la chiave di servizio del server (sulla sua macchina)', SERVICE_KEY_HELP)
    .action(run(printServiceKey))

  command(program, 'backup', 'Salva database e file in un file cifrato (sulla macchina del server)', BACKUP_HELP)
    .argument('<file>', 'dove: un file che c\'è già viene sostituito alla fine')
    .option('--verify', 'legge tutto un salvataggio e lo controlla, senza il server')
    .action(run(backup))
  command(program, 'restore', 'Rimette un salvataggio in un database nuovo (sulla macchina del server)', RESTORE_HELP)
    .argument('<file>', 'il salvataggio')
    .action(run(restore))
  command(program, 'doctor', 'Controlla ciò che serve al server (sulla sua macchina)', DOCTOR_HELP)
    .action(run((context) => doctor(context)))
  return program
}

function command (parent: Command, name: string, description: string, help = ''): Command {
  return parent
    .command(name)
    .description(description)
    .helpOption('-h, --help', "mostra l'aiuto")
    .addHelpText('after', help)
}

function group (parent: Command, name: string, description: string, help = ''): Command {
  return command(parent, name, description, help).helpCommand(false)
}

function fromSource (command: Command): Command {
  return command
    .argument('[file]', 'file JSON con «ospiti» e «prenotazione»; «-» per lo standard input')
    .option(
      '--prenotazione <id>',
      'gli ospiti salvati di questa prenotazione, al posto di un file',
      identifier('--prenotazione')
    )
    .option(
      '--appartamento <n>',
      "con --prenotazione: l'appartamento, per gli account «Gestione Appartamenti»",
      integer('--appartamento', 0, 999_999)
    )
}

function source (file: string | undefined, { prenotazione, appartamento }: SourceOptions): Source {
  if ((file === undefined) === (prenotazione === undefined)) {
    throw usageError('Indicare un file (o «-»), oppure --prenotazione: uno dei due')
  }
  if (appartamento !== undefined && prenotazione === undefined) {
    throw usageError('--appartamento va con --prenotazione: in un file sta in «prenotazione.id_appartamento»')
  }
  return { file, prenotazione, appartamento }
}

function identifier (name: string): (text: string) => number {
  return integer(name, 1, Id.maximum ?? Infinity)
}
