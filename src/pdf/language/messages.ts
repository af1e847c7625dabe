import { TemplateError, type Place, type Problem } from '../errors.ts'

/** Liquid's words, as far as an author can meet them, in ours. `$1` is what the pattern has caught. */
const MESSAGES: [pattern: RegExp, code: Problem, text: string][] = [
  [/^undefined filter: ([^\s,]+)/, 'ISTRUZIONE_SCONOSCIUTA', 'filtro «$1» sconosciuto'],
  [/^tag "?([^"]+)"? not found/, 'ISTRUZIONE_SCONOSCIUTA', 'istruzione «$1» sconosciuta'],
  [/^tag "?(.+?)"? not closed/, 'SINTASSI_NON_VALIDA', 'istruzione «$1» non chiusa'],
  [/^output "?(.+?)"? not closed/, 'SINTASSI_NON_VALIDA', 'manca la chiusura di «$1»'],
  [/^raw "?(.+?)"? not closed/, 'SINTASSI_NON_VALIDA', 'istruzione «$1» non chiusa'],
  [/^parse length limit exceeded/, 'LIMITE_SUPERATO', 'il modello è troppo lungo'],
  [/^template render limit exceeded/, 'LIMITE_SUPERATO', 'il modello chiede troppo tempo'],
  [/^memory alloc limit exceeded/, 'LIMITE_SUPERATO', 'il modello produce troppo testo'],
  [/^unexpected token (.+?),/, 'SINTASSI_NON_VALIDA', 'non ci si aspettava $1'],
  [/Maximum call stack/, 'LIMITE_SUPERATO', 'troppi livelli, uno dentro l’altro'],
  [/./, 'SINTASSI_NON_VALIDA', 'istruzione scritta male']
]

interface TokenError { token?: { getPosition (): number[] }, originalError?: unknown, message: string }

/** What Liquid says of a template, in words for its author, with the place. */
export function templateError (err: unknown): TemplateError {
  const { token, originalError, message } = err as TokenError
  const [riga, colonna] = token?.getPosition() ?? []
  const place: Place | undefined = riga === undefined || colonna === undefined ? undefined : { riga, colonna }
  const own = err instanceof TemplateError ? err : originalError
  if (own instanceof TemplateError) return own.place ? own : new TemplateError(own.code, own.message, place)
  for (const [pattern, code, text] of MESSAGES) {
    const match = pattern.exec(message)
    if (match) return new TemplateError(code, text.replace('$1', (match[1] ?? '').trim()), place)
  }
  return new TemplateError('SINTASSI_NON_VALIDA', 'istruzione scritta male', place)
}
