import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, NotEmpty, Nullable, OneOf, Ref, Text } from './common.ts'
import { Uuid } from './auth/uuid.ts'

/** The permissions of a personal API key. */
export const SCOPES = ['lettura', 'scrittura', 'invio', 'amministrazione'] as const

export type Scope = typeof SCOPES[number]
export const Scope = OneOf(SCOPES)

export function isScope (text: string): text is Scope {
  return SCOPES.some((scope) => scope === text)
}

export const MintQuery = Closed({
  name: Type.Optional(Text(100, { minLength: 1, description: 'Un nome per riconoscerla' })),
  days: Type.Optional(NotEmpty(Type.Integer({
    minimum: 1, maximum: 365, description: 'Giorni di validità, 90 se non detto'
  }))),
  scopes: Type.Optional(
    NotEmpty(Type.String({
      maxLength: 60,
      pattern: `^(${SCOPES.join('|')})(,(${SCOPES.join('|')}))*$`,
      description: 'Ambiti separati da virgola, tutti se non detto'
    }))
  )
})
export type MintQuery = Static<typeof MintQuery>

/** A new key. The secret is shown only here. */
export const MintedKey = Closed(
  { apiKey: Type.String(), id: Type.String(), created_at: Instant, expires_at: Instant },
  {
    examples: [
      {
        apiKey: 'lcd_…',
        id: '0f1e2d3c4b5a6978',
        created_at: '2026-11-21T09:30:00.000Z',
        expires_at: '2027-02-19T09:30:00.000Z'
      }
    ]
  }
)
export type MintedKey = Static<typeof MintedKey>

export const ApiKey = Closed({
  id: Type.String(),
  user_id: Uuid,
  name: Type.String(),
  scopes: Type.Array(Scope),
  created_at: Instant,
  expires_at: Instant,
  last_used_at: Nullable(Instant),
  revoked_at: Nullable(Instant)
}, {
  $id: 'ChiaveApi',
  examples: [{
    id: '0f1e2d3c4b5a6978',
    user_id: '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11',
    name: 'portatile',
    scopes: ['lettura'],
    created_at: '2026-11-21T09:30:00.000Z',
    expires_at: '2027-02-19T09:30:00.000Z',
    last_used_at: null,
    revoked_at: null
  }]
})
export type ApiKey = Static<typeof ApiKey>
export const ApiKeyList = Closed({ data: Type.Array(Ref(ApiKey)) })

export const KeyParams = Closed({
  id: Type.String({
    pattern: '^[0-9a-f]{16}$',
    maxLength: 16,
    description: 'L’id della chiave, come lo dà l’elenco: non la chiave stessa',
    examples: ['0f1e2d3c4b5a6978']
  })
})
export const KeyQuery = Closed({
  tutte: Type.Optional(Type.Boolean({ description: 'Quelle di tutti: per amministratori' }))
})
export const KeyRevokedResponse = Closed(
  { message: Type.String(), status: Type.Integer() },
  { examples: [{ message: 'Chiave revocata', status: 200 }] }
)
