import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, NotEmpty, Nullable, OneOf, Text } from './common.ts'

const flag = {
  key: Type.String({ pattern: '^[a-z0-9_.-]{1,64}$', maxLength: 64, examples: ['check_in_online'] }),
  enabled: Type.Boolean({ examples: [true] })
}

export const FeatureFlag = Closed(flag, { $id: 'Funzione' })
export type FeatureFlag = Static<typeof FeatureFlag>

/** An unknown key creates a new flag. */
export const FeatureChange = Closed(flag, { examples: [{ key: 'check_in_online', enabled: true }] })

/** Features that can stay available during maintenance. `invii`: new submissions to the police. */
export const MAINTENANCE_ALLOWANCES = ['invii'] as const

const message = Text(500)
const allow = Type.Array(OneOf(MAINTENANCE_ALLOWANCES), {
  maxItems: MAINTENANCE_ALLOWANCES.length,
  uniqueItems: true,
  description: 'Che cosa resta permesso; `invii`: nuovi invii alla Polizia'
})
const EXAMPLE = { enabled: true, message: 'Aggiornamento in corso, di nuovo in linea alle 14', allow: ['invii'] }

/** The requested maintenance. Without `message` it has none, without `allow` no feature stays available. */
export const MaintenanceChange = Closed({
  enabled: Type.Boolean(),
  message: Type.Optional(message),
  allow: Type.Optional(NotEmpty(allow))
}, { examples: [EXAMPLE, { enabled: false }] })
export type MaintenanceChange = Static<typeof MaintenanceChange>

/** `message` and `since` are null without maintenance. */
export const MaintenanceState = Closed({
  enabled: Type.Boolean(),
  message: Nullable(message),
  since: Nullable(Instant),
  allow
}, {
  $id: 'Manutenzione',
  examples: [
    { ...EXAMPLE, since: '2026-11-21T12:30:00.000Z' },
    { enabled: false, message: null, since: null, allow: [] }
  ]
})
export type MaintenanceState = Static<typeof MaintenanceState>
