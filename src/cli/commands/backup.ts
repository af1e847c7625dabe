import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import type { SettledRestore } from '#src/backup/index.ts'
import type { Context } from '../command-context.ts'
import { CliError, EXIT, usageError, type Exit } from '../errors.ts'
import { newSecret, secretOf } from '../terminal.ts'

const VARIABLE = 'BACKUP_PASSPHRASE'
const PASSPHRASE = 'Passphrase del salvataggio'
/** Minimum length of the passphrase, as in the server's setting. */
const MIN_LENGTH = 12

/** Backs up the installation of this environment, or verifies a backup of any installation. */
export async function backup (context: Context, file: string, { verify = false }: { verify?: boolean }): Promise<Exit> {
  const { terminal, out } = context
  const operations = await import('#src/backup/index.ts')
  if (verify) {
    const passphrase = await secretOf(terminal, VARIABLE, PASSPHRASE)
    const { manifest: { version, created }, summary } = await asCliError(() => operations.verify(file, passphrase))
    warnOfGaps(context, summary)
    out.result(`Salvataggio integro del ${created} (Locanda ${version}): ${contentOf(summary)}`, {
      creato: created, versione: version, ...figuresOf(summary)
    })
    return EXIT.ok
  }
  const passphrase = await newSecret(terminal, VARIABLE, PASSPHRASE)
  if (passphrase.length < MIN_LENGTH) throw usageError(`La passphrase deve avere almeno ${MIN_LENGTH} caratteri`)
  const { env, onInterrupt = () => () => {} } = terminal
  const { size, summary } = await asCliError(() => operations.backUp(env, file, passphrase, onInterrupt))
  warnOfGaps(context, summary)
  out.result(`Salvato in ${file} (${size} byte): ${contentOf(summary)}`, { file, byte: size, ...figuresOf(summary) })
  return EXIT.ok
}

/** Restores a backup into the empty installation of this environment. */
export async function restore (context: Context, file: string): Promise<Exit> {
  const { terminal, out } = context
  const { env, onInterrupt = () => () => {} } = terminal
  const passphrase = await secretOf(terminal, VARIABLE, PASSPHRASE)
  const operations = await import('#src/backup/index.ts')
  const { summary, settled } = await asCliError(() => operations.restore(env, file, passphrase, onInterrupt))
  warnOfGaps(context, summary)
  out.result(`Ripristinato: ${contentOf(summary)}`, { ...figuresOf(summary), ...revocationsOf(settled) })
  out.note('Gli invii alla Polizia sono sospesi: confrontare le ricevute, poi riprenderli')
  reportSettled(context, settled)
  return EXIT.ok
}

/** Lists the revoked access, the repeated erasures, and the time from which later erasures must be repeated. */
function reportSettled ({ out }: Context, { sessions, keys, path, until, repeated }: SettledRestore): void {
  out.note(`Tutte le sessioni sono terminate (${sessions}) e tutte le chiavi API revocate (${keys.length})`)
  for (const { id, name, user, email } of keys) out.note(`Chiave API revocata: ${id} «${name}» di ${email ?? user}`)
  const from = dayWithArticle('dal', new Date(until))
  if (repeated === undefined) {
    out.warn(`${path} manca o non è valido: ripetere a mano le cancellazioni e i blocchi di utenti ${from}`)
    return
  }
  const { utenti, prenotazioni, scansioni, file, bloccati } = repeated
  const erased = utenti.length + prenotazioni.length + scansioni.length + file.length
  out.note(`Cancellazioni ripetute: ${erased} (quelle di dati degli ospiti all’avvio del server). ` +
    `Utenti bloccati di nuovo: ${bloccati.length}. Ripetere a mano soltanto quelle ${from}`)
}

function revocationsOf ({ sessions, keys, path, until, repeated }: SettledRestore) {
  const chiavi_revocate = keys.map(({ id, name, user, email }) => ({ id, nome: name, utente: user, email }))
  const ripetuti = repeated ?? null
  return { sessioni_terminate: sessions, chiavi_revocate, file_cancellazioni: path, ripetere_dal: until, ripetuti }
}

function warnOfGaps ({ out }: Context, { missing, foreign }: Figures): void {
  if (missing.length > 0) {
    out.warn(`File mancanti o illeggibili al momento del salvataggio (${missing.length}): ${missing.join(', ')}`)
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
  const rows = countWithNoun(rowsOf(tables), 'riga', 'righe')
  return `${rows} in ${countWithNoun(Object.keys(tables).length, 'tabella', 'tabelle')}, ${files} file (${bytes} byte)`
}

function rowsOf (tables: Record<string, number>): number {
  return Object.values(tables).reduce((sum, rows) => sum + rows, 0)
}

async function asCliError<T> (work: () => Promise<T>): Promise<T> {
  const { InterruptedError, OperationError } = await import('#src/backup/index.ts')
  try {
    return await work()
  } catch (err) {
    if (err instanceof InterruptedError) throw new CliError(EXIT.interrupted, 'INTERROTTO', err.message)
    throw err instanceof OperationError ? new CliError(EXIT.failed, 'SALVATAGGIO', err.message) : err
  }
}
