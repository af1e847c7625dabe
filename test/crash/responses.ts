/** The response to a client that submitted a list of guests. */
export interface ClientResponse {
  /** The numbers of the people, in the order of the list. */
  guests: readonly number[]
  /** Undefined when the connection ended before the response. */
  status: number | undefined
  codice?: string
  ricevuta?: string
  /** Row outcomes of the guests, if the response has them. */
  schedine?: { ospite: number, esito: string }[]
}

/** Calls one of the servers. Undefined when no server runs, or the server was killed before its response. */
export type Ask = (path: string, body: object, headers?: Record<string, string>, method?: 'POST' | 'PUT') =>
Promise<{ status: number, body: object } | undefined>
