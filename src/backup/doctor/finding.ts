import { errorCode, isTlsCode } from '#src/lib/error-code.ts'

export type Level = 'ok' | 'avviso' | 'errore'

/** The result of one check in Italian: the state, and what to do if necessary. */
export interface Finding { subject: string, level: Level, text: string }

/** The result of a check; undefined: there is nothing to check. */
export type Found = Promise<Omit<Finding, 'subject'> | undefined>

export const ok = (text: string) => ({ level: 'ok', text }) as const
export const warning = (text: string) => ({ level: 'avviso', text }) as const
export const fault = (text: string) => ({ level: 'errore', text }) as const

/** The reason of a failed connection, and its remedy, which differs when TLS failed. */
export function failure (code: string, remedy: string): string {
  return isTlsCode(code)
    ? `connessione TLS non riuscita (${code}): controllare porta e certificato; per un’autorità propria ` +
      'impostare NODE_EXTRA_CA_CERTS'
    : `non riuscito (${code}): ${remedy}`
}

/** Runs a check. An exception counts as a fault. */
export async function look (subject: string, at: () => Found): Promise<Finding[]> {
  try {
    const found = await at()
    return found ? [{ subject, ...found }] : []
  } catch (err) {
    return [{ subject, ...fault(`non riuscito (${errorCode(err)})`) }]
  }
}
