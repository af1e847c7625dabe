import { CliError, EXIT } from './errors.ts'
import type { Answer } from './exchange.ts'

/**
 * The body of a good answer, which has at least these fields.
 * @throws CliError for a refusal, and for what is no answer of this service
 */
export function expectBody<T extends object> (answer: Answer, ...fields: (keyof T & string)[]): T {
  if (answer.status < 200 || answer.status > 299) throw refusal(answer)
  if (!isObject(answer.body) || !fields.every((name) => name in Object(answer.body))) {
    throw new CliError(
      EXIT.failed,
      'RISPOSTA_NON_VALIDA',
      "La risposta non è quella di un server Locanda: controllare l'indirizzo"
    )
  }
  return answer.body as T
}

/** What a server meant by an answer that is no success. */
export function refusal ({ status, headers, body }: Answer): CliError {
  if (status >= 300 && status < 400) {
    const target = headers.get('location') ?? ''
    const where = URL.canParse(target) ? ` a ${new URL(target).origin}` : ''
    return new CliError(
      EXIT.failed,
      'REINDIRIZZAMENTO',
      `Il server rimanda${where}: i reindirizzamenti non vengono seguiti, indicare l'indirizzo definitivo con --url`
    )
  }
  const { error, codice } = (isObject(body) ? body : {}) as { error?: unknown, codice?: unknown }
  const message = typeof error === 'string' ? error : `Il server ha risposto con lo stato ${status}, senza spiegazioni`
  return new CliError(
    status === 401 ? EXIT.credentials : EXIT.failed,
    typeof codice === 'string' ? codice : `STATO_${status}`,
    message,
    isObject(body) ? body : undefined
  )
}

export function isObject (value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
