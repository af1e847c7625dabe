import { errorCode, isTlsCode } from '#src/lib/error-code.ts'

export type Level = 'ok' | 'avviso' | 'errore'

/** The result of one check in Italian: the level, and advice if the operator has to act. */
export interface Finding { subject: string, level: Level, text: string }

/** The result of a check. Undefined when the check does not apply to this installation. */
export type Found = Promise<Omit<Finding, 'subject'> | undefined>

export const ok = (text: string) => ({ level: 'ok', text }) as const
export const warning = (text: string) => ({ level: 'avviso', text }) as const
export const fault = (text: string) => ({ level: 'errore', text }) as const

/** The reason why a connection failed, and the remedy. The remedy differs when TLS failed. */
export function failure (code: string, remedy: string): string {
  return isTlsCode(code)
    ? `connessione TLS non riuscita (${code}): controllare porta e certificato; per un’autorità propria ` +
      'impostare NODE_EXTRA_CA_CERTS'
    : `non riuscito (${code}): ${remedy}`
}

/** Runs a check. An exception becomes a finding with an error. */
export async function runCheck (subject: string, check: () => Found): Promise<Finding[]> {
  try {
    const found = await check()
    return found ? [{ subject, ...found }] : []
  } catch (err) {
    return [{ subject, ...fault(`non riuscito (${errorCode(err)})`) }]
  }
}
