import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, Ref, Text } from './common.ts'
import { AuthUser, Metadata } from './auth/user.ts'
import { Uuid } from './auth/uuid.ts'
import { pagingOrWhole } from './paging.ts'

/** At least one character that is not a blank. */
const Name = Text(100, { minLength: 1, pattern: '^(?=.*\\S|$)[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$' })

export const OperatorBody = Closed({
  email: Type.String({ format: 'email', maxLength: 254 }),
  password: Type.String({ minLength: 1, maxLength: 200 }),
  name: Name,
  surname: Name
}, { examples: [{ email: 'piero@example.org', password: 'una-frase-lunga-e-mia', name: 'Piero', surname: 'Neri' }] })
export type OperatorBody = Static<typeof OperatorBody>

export const PeopleQuery = Closed(pagingOrWhole)
export type PeopleQuery = Static<typeof PeopleQuery>

/** An operator or administrator. */
export const Operator = Closed({
  ...AuthUser.properties,
  foto_url: Type.Optional(Type.String({
    description: 'Un link firmato all’immagine del profilo, da mostrare in una pagina; vale un’ora'
  }))
}, {
  $id: 'Operatore',
  examples: AuthUser.examples as unknown[]
})
export type Operator = Static<typeof Operator>
export const OperatorList = Type.Array(Ref(Operator))

/** A user in the user list. */
export const UserItem = Closed(
  { id: Uuid, email: Type.String(), user_metadata: Metadata, created_at: Instant },
  {
    $id: 'Utente',
    examples: [
      {
        id: '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11',
        email: 'piero@example.org',
        user_metadata: { name: 'Piero' },
        created_at: '2026-11-21T09:30:00.000Z'
      }
    ]
  }
)
export type UserItem = Static<typeof UserItem>
export const UserList = Type.Array(Ref(UserItem))

/** The base URL and public key that a client of the identity provider starts with. */
export const ClientConfig = Closed({ backendUrl: Type.String(), backendKey: Type.String() }, {
  examples: [{ backendUrl: 'https://locanda.example', backendKey: 'eyJhbGciOiJIUzI1NiJ9…' }]
})
export type ClientConfig = Static<typeof ClientConfig>
