import type { DayAttempt, DayInput, DayUnit, Look } from '#src/alloggiati/ledger/reconcile/day.ts'

/* A day of an account to reconcile: 20 November 2026, looked at on the 21st in the afternoon. */

export const DAY = '2026-11-20'
export const NEXT = '2026-11-21'
/** 14:00 in Rome. */
export const AFTERNOON = new Date('2026-11-21T13:00:00Z')

export function attempt (invio: number, more: Partial<DayAttempt> = {}): DayAttempt {
  return {
    invio,
    numero: 1,
    schedine: 2,
    notti: 6,
    giorno_da: DAY,
    giorno_a: DAY,
    esito: '?',
    per_decisione: false,
    ...more
  }
}

export function unit (id: number, more: Partial<DayUnit> = {}): DayUnit {
  return { id, stato: 'sconosciuto', tentativo: 1, data_arrivo: DAY, intero: true, altri: [], motivi: [], ...more }
}

export function look (rome: string, schedine: number | null, notti: number | null, available = schedine !== null): Look {
  return { letta_il: new Date(`${NEXT}T${rome}:00+01:00`), available, schedine, notti }
}

/** Two looks three hours apart that agree. */
export function twice (schedine: number, notti: number): Look[] {
  return [look('07:00', schedine, notti), look('10:00', schedine, notti)]
}

export function day (more: Partial<DayInput>): DayInput {
  return { giorno: DAY, now: AFTERNOON, esclusivo: true, attempts: [], units: [], looks: [], ...more }
}
