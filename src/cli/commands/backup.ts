import type { Context } from '../command-context.ts'
import { CliError, EXIT, usageError, type Exit } from '../errors.ts'
import { ask, secretOf } from '../terminal.ts'

/** Of the passphrase: what the setting of the server asks for, too. */
const LEAST = 12

/** Makes a backup of the installation whose environment this is; or reads one whole, wherever it is from. */
export async function backup (context: Context, file: string, { verify = false }: { verify?: boolean }): Promise<Exit> {
  const { terminal, out } = context
  requireName(file)
  const operations = await import('#src/backup/index.ts')
  if (verify) {
    const passphrase = await passphraseOf(context, false)
    const { manifest, summary } = await told(() => operations.verify(file, passphrase))
    const { version, created } = manifest
    warnOfGaps(context, summary)
    out.result(`Salvataggio integro del ${created} (Locanda ${version}): ${contentOf(summary)}`, {
      creato: created, versione: version, ...figuresOf(summary)
    })
    return EXIT.ok
  }
  const passphrase = await passphraseOf(context, true)
  const { env, onInterrupt = () => () => {} } = terminal
  const { size, summary } = await told(() => operations.backUp(env, file, passphrase, onInterrupt))
  warnOfGaps(context, summary)
  out.result(`Salvato in ${file} (${size} byte): ${contentOf(summary)}`, { file, byte: size, ...figuresOf(summary) })
  return EXIT.ok
}

/** Puts a backup into the empty installation whose environment this is. */
export async function restore (context: Context, file: string): Promise<Exit> {
  const { terminal: { env, onInterrupt = () => () => {} }, out } = context
  requireName(file)
  const passphrase = await passphraseOf(context, false)
  const operations = await import('#src/backup/index.ts')
  const summary = await told(() => operations.restore(env, file, passphrase, onInterrupt))
  warnOfGaps(context, summary)
  out.result(`Ripristinato: ${contentOf(summary)}`, figuresOf(summary))
  out.note('Gli invii alla Polizia sono sospesi: confrontare le ricevute, poi riprenderli ' +
    '(POST /api/v1/invii/sospensione)')
  return EXIT.ok
}

/** As from a script whose variable is not set. */
function requireName (file: string): void {
  if (file.trim() === '') throw usageError('Il nome del file è vuoto')
}

function warnOfGaps ({ out }: Context, { missing, foreign }: Figures): void {
  if (missing.length > 0) {
    out.warn(`${missing.length} file mancavano, o erano illeggibili, già nel server: ${missing.join(', ')}`)
  }
  if (foreign.length > 0) {
    out.warn(`Il salvataggio non contiene tabelle e colonne che non sono di Locanda: ${foreign.join(', ')}`)
  }
}

interface Figures { tables: Record<string, number>, files: number, bytes: number, missing: string[], foreign: string[] }

function figuresOf ({ tables, files, bytes, missing, foreign }: Figures) {
  const righe = rowsOf(tables)
  return { righe, tabelle: tables, documenti: files, byte_documenti: bytes, mancanti: missing, non_salvati: foreign }
}

function contentOf ({ tables, files, bytes }: Figures): string {
  return `${rowsOf(tables)} righe in ${Object.keys(tables).length} tabelle, ${files} file (${bytes} byte)`
}

function rowsOf (tables: Record<string, number>): number {
  return Object.values(tables).reduce((sum, rows) => sum + rows, 0)
}

/**
 * From the environment, from the terminal, or from the first line of standard input.
 * @param isNew typed twice: nobody opens the file with what was meant to be typed
 */
async function passphraseOf ({ terminal }: Context, isNew: boolean): Promise<string> {
  const { secret, isTyped } = await secretOf(terminal, 'BACKUP_PASSPHRASE', 'Passphrase del salvataggio: ')
  if (secret === '') throw usageError('Manca la passphrase (BACKUP_PASSPHRASE)')
  if (isNew && secret.length < LEAST) throw usageError(`La passphrase deve avere almeno ${LEAST} caratteri`)
  if (isNew && isTyped && await ask(terminal, 'Di nuovo: ', true) !== secret) {
    throw usageError('Le due passphrase sono diverse')
  }
  return secret
}

async function told<T> (work: () => Promise<T>): Promise<T> {
  const { BrokenOff, OperationError } = await import('#src/backup/index.ts')
  try {
    return await work()
  } catch (err) {
    if (err instanceof BrokenOff) throw new CliError(EXIT.interrupted, 'INTERROTTO', err.message)
    throw err instanceof OperationError ? new CliError(EXIT.failed, 'SALVATAGGIO', err.message) : err
  }
}
