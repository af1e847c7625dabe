/** The answer that a client got for a list of guests. */
export interface ClientAnswer {
  /** Numbers of the persons, in the order of the list. */
  guests: readonly number[]
  /** Undefined: the connection ended before the answer. */
  status: number | undefined
  codice?: string
  ricevuta?: string
  /** The row outcomes of the guests, where the answer has them. */
  schedine?: { ospite: number, esito: string }[]
}

/** Asks one of the servers. Undefined: none runs, or it died before it answered. */
export type Ask = (path: string, body: object, headers?: Record<string, string>) =>
Promise<{ status: number, body: object } | undefined>
