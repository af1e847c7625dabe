import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, Nullable, OneOf } from './common.ts'

/** What became of a run; `interrotto`: the process that ran it has died. */
export const JOB_OUTCOMES = ['riuscito', 'fallito', 'interrotto'] as const

export const JobName = Type.String({ pattern: '^[a-z-]{1,40}$', maxLength: 40, examples: ['receipts'] })

/** A recurring job and its last run; durations are milliseconds. */
export const Job = Closed({
  nome: JobName,
  descrizione: Type.String({ examples: ['Scarica le ricevute mancanti degli ultimi 30 giorni'] }),
  /** Europe/Rome. */
  cron: Type.String({ examples: ['30 6 * * *'] }),
  in_corso: Type.Boolean(),
  ultimo_avvio: Nullable(Instant),
  durata_ms: Nullable(Type.Integer({ minimum: 0, examples: [1250] })),
  esito: Nullable(OneOf(JOB_OUTCOMES, { examples: ['riuscito'] })),
  errore: Nullable(Type.String({ examples: ['ECONNREFUSED'] })),
  prossimo_avvio: Nullable(Instant)
}, { $id: 'Lavoro' })
export type Job = Static<typeof Job>
