import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, Nullable, OneOf, Ref } from './common.ts'

/** The outcome of a run. `interrotto`: its process has exited or was killed, and the run is repeated. */
export const JOB_OUTCOMES = ['riuscito', 'fallito', 'interrotto'] as const

const JobName = Type.String({ pattern: '^[a-z0-9-]{1,40}$', maxLength: 40, examples: ['receipts'] })

export const JobParams = Closed({
  nome: { ...JobName, description: 'Il nome del lavoro, come lo dà GET /api/v1/jobs' }
})

/** A recurring job and its last run. Durations are in milliseconds. */
export const Job = Closed({
  nome: JobName,
  descrizione: Type.String({ examples: ['Scarica le ricevute mancanti degli ultimi 30 giorni'] }),
  cron: Type.String({ description: 'Espressione cron, ora di Roma', examples: ['30 6 * * *'] }),
  ogni_processo: Type.Boolean({
    description: 'Eseguito da ogni processo per conto suo, non da uno per tutti: l’ultima esecuzione è di uno di essi',
    examples: [false]
  }),
  in_corso: Type.Boolean({ examples: [false] }),
  ultimo_avvio: Nullable(Instant),
  durata_ms: Nullable(Type.Integer({ minimum: 0, examples: [1250] })),
  esito: Nullable(OneOf(JOB_OUTCOMES, { examples: ['riuscito'] })),
  errore: Nullable(Type.String({ description: 'Nome o codice dell’errore', examples: ['ECONNREFUSED'] })),
  prossimo_avvio: Type.String({ ...Instant, description: 'Se è passato, il lavoro è in ritardo e sta per partire' })
}, { $id: 'Lavoro' })
export type Job = Static<typeof Job>

const EXAMPLE: Job = {
  nome: 'receipts',
  descrizione: 'Scarica le ricevute mancanti degli ultimi 30 giorni',
  cron: '30 6 * * *',
  ogni_processo: false,
  in_corso: false,
  ultimo_avvio: '2026-11-21T05:30:00.000Z',
  durata_ms: 1250,
  esito: 'riuscito',
  errore: null,
  prossimo_avvio: '2026-11-22T05:30:00.000Z'
}

export const JobList = Closed({ data: Type.Array(Ref(Job)) }, { examples: [{ data: [EXAMPLE] }] })
export type JobList = Static<typeof JobList>

export const JobResponse = Closed({ data: Ref(Job) }, { examples: [{ data: EXAMPLE }] })
export type JobResponse = Static<typeof JobResponse>

const UNDER_WAY: Job = { ...EXAMPLE, in_corso: true, durata_ms: null, esito: null }
export const JobUnderWay = Closed({ data: Ref(Job) }, { examples: [{ data: UNDER_WAY }] })
