import { errorCode } from '#src/lib/error-code.ts'

export type Level = 'ok' | 'avviso' | 'errore'

/** What one look has found, Italian: the state, and what to do where there is something to do. */
export interface Finding { subject: string, level: Level, text: string }

/** What a look at one thing has found; undefined: there is nothing to look at. */
export type Found = Promise<Omit<Finding, 'subject'> | undefined>

export const ok = (text: string) => ({ level: 'ok', text }) as const
export const warning = (text: string) => ({ level: 'avviso', text }) as const
export const fault = (text: string) => ({ level: 'errore', text }) as const

/** A look that fails has found a fault. */
export async function look (subject: string, at: () => Found): Promise<Finding[]> {
  try {
    const found = await at()
    return found ? [{ subject, ...found }] : []
  } catch (err) {
    return [{ subject, ...fault(`non riuscito (${errorCode(err)})`) }]
  }
}
