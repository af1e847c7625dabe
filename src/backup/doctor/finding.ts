import { setTimeout as wait } from 'node:timers/promises'
import { errorCode } from '#src/lib/error-code.ts'

export type Level = 'ok' | 'avviso' | 'errore'

/** What one look has found, Italian: the state, and what to do where there is something to do. */
export interface Finding { subject: string, level: Level, text: string }

/** What a look at one thing has found; undefined: there is nothing to look at. */
export type Found = Promise<Omit<Finding, 'subject'> | undefined>

export const ok = (text: string) => ({ level: 'ok', text }) as const
export const warning = (text: string) => ({ level: 'avviso', text }) as const
export const fault = (text: string) => ({ level: 'errore', text }) as const

/** Longer than any other server of the settings is waited for. */
const WITHIN_MS = 30_000

/** A look that fails, or does not end, has found a fault. */
export async function look (subject: string, at: () => Found): Promise<Finding[]> {
  const over = new AbortController()
  const late = wait(WITHIN_MS, fault('nessuna risposta entro mezzo minuto'), { signal: over.signal })
  try {
    const found = await Promise.race([at(), late])
    return found ? [{ subject, ...found }] : []
  } catch (err) {
    return [{ subject, ...fault(`non riuscito (${errorCode(err)})`) }]
  } finally {
    late.catch(() => {})
    over.abort()
  }
}
