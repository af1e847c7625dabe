import { Type, type Static } from '@sinclair/typebox'
import { Closed, Open, OneOf } from '#schemas/common.ts'
import { Metadata } from './user.ts'
import { Uuid } from './uuid.ts'

/* Bodies of the identity protocol are open: clients send fields that we do not use, and newer ones send more. */

const text = (maxLength: number, description?: string) =>
  Type.Optional(Type.String({ maxLength, ...description !== undefined && { description } }))
/** Clients send null for a missing value. */
const nullable = (maxLength: number, description: string) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength, description }))
const Email = Type.String({ maxLength: 254 })
const Password = Type.String({ maxLength: 4096 })
const CHALLENGE = 'L’impronta di un segreto di chi chiama (PKCE)'
const CHALLENGE_METHOD = '`s256` o `plain`'
const codeChallenge = {
  code_challenge: nullable(128, CHALLENGE), code_challenge_method: nullable(10, CHALLENGE_METHOD)
}
/** Clients of the protocol may send a phone number, but phone sign-in is not supported. */
const phone = text(40, 'Rifiutato: qui non c’è accesso con il telefono')

export const GrantQuery = Open({ grant_type: text(40, '`password`, `refresh_token`, `pkce` o `id_token`') })

export const GrantBody = Open(
  {
    email: text(254, 'Di `password`, obbligatorio con `password`'),
    phone,
    password: Type.Optional(Password),
    refresh_token: text(200, 'Di `refresh_token`, obbligatorio'),
    auth_code: text(200, 'Di `pkce`, obbligatorio: il codice con cui il browser è tornato'),
    code_verifier: text(200, 'Di `pkce`, obbligatorio: quello di cui `code_challenge` era l’impronta'),
    /** For the grant `id_token`. */
    id_token: text(10_000, 'Di `id_token`, obbligatorio con `provider` o `issuer`'),
    access_token: text(10_000, 'Di `id_token`: il token d’accesso venuto insieme'),
    nonce: text(500, 'Di `id_token`: quello con cui è stato chiesto'),
    provider: text(60, 'Di `id_token`: il nome del provider che l’ha dato'),
    issuer: text(500, 'Di `id_token`: l’emittente, se manca `provider`'),
    link_identity: Type.Optional(Type.Boolean({
      description: 'Di `id_token`: collega l’identità all’account di chi chiama'
    }))
  },
  { examples: [{ email: 'anna@example.org', password: 'una-frase-lunga-e-mia' }] }
)
export type GrantBody = Static<typeof GrantBody>

export const LogoutQuery = Open({
  scope: text(20, 'Quali sessioni finiscono: `global` tutte (se manca), `local` questa, `others` le altre')
})
export const EmptyBody = Open({}, { examples: [{}] })

/** The URL to which the browser is redirected afterwards. */
const redirect_to = text(2000, 'Dove si manda il browser dopo: un indirizzo di CORS_ORIGINS, di REDIRECT_URLS o di ' +
  'questo server, ma non sotto /auth/v1. Ogni altro è sostituito dal primo di CORS_ORIGINS, o da quello di questo ' +
  'server. Se manca, vale lo stesso; ma le e-mail di invito e di recupero, e senza CORS_ORIGINS tutte, portano alle ' +
  'pagine di questo server')
export const RedirectQuery = Open({ redirect_to })

export const UserUpdate = Open({
  email: Type.Optional(Email),
  phone,
  password: Type.Optional(Password),
  data: Type.Optional(Metadata),
  app_metadata: Type.Optional(Metadata),
  nonce: text(20, 'Per una nuova password: il codice della e-mail di GET /auth/v1/reauthenticate'),
  current_password: Type.Optional(Type.String({
    ...Password, description: 'Per una nuova password, se l’accesso non è recente: quella di ora, o `nonce`'
  })),
  /** Not part of the protocol. */
  revoca_chiavi: Type.Optional(
    Type.Boolean({ description: 'Con una nuova password revoca anche le chiavi API; no, se non detto' })
  ),
  ...codeChallenge
}, { examples: [{ data: { name: 'Anna' } }] })
export type UserUpdate = Static<typeof UserUpdate>

export const SignupBody = Open({
  email: text(254), phone, password: Type.Optional(Password), data: Type.Optional(Metadata), ...codeChallenge
}, {
  examples: [{ email: 'anna@example.org', password: 'una-frase-lunga-e-mia' }]
})

export const RecoverBody = Open({ email: Email, ...codeChallenge }, { examples: [{ email: 'anna@example.org' }] })

export const OtpBody = Open(
  {
    email: text(254),
    phone,
    create_user: Type.Optional(Type.Boolean({
      description: '`false`: chi non ha un account non se lo crea; se manca, sì, dove è permesso iscriversi'
    })),
    data: Type.Optional(Metadata),
    ...codeChallenge
  },
  {
    examples: [{ email: 'anna@example.org', create_user: false }]
  }
)

const PROOF_TYPES = 'Per che cosa era la e-mail: `signup` o `invite`, che valgono lo stesso; `magiclink` o ' +
  '`recovery`, che valgono lo stesso; `email`: uno qualunque di questi; `email_change`: un cambio d’indirizzo'

export const ResendBody = Open(
  {
    type: Type.String({ maxLength: 40, description: '`signup` o `email_change`' }),
    email: text(254),
    phone,
    ...codeChallenge
  },
  { examples: [{ type: 'signup', email: 'anna@example.org' }] }
)

export const VerifyBody = Open({
  type: Type.String({ maxLength: 40, description: PROOF_TYPES }),
  token: text(200, 'Il codice della e-mail, con `email`; o `token_hash`, senza'),
  token_hash: text(200, 'Il segreto del collegamento della e-mail'),
  email: text(254, 'L’indirizzo che ha avuto il codice'),
  phone
}, { examples: [{ type: 'recovery', email: 'anna@example.org', token: '123456' }] })

export const VerifyQuery = Open({
  token: text(200, 'Il segreto del collegamento, come sta nella e-mail'),
  token_hash: text(200, 'Un altro nome di `token`: se c’è, vale questo'),
  type: text(40, PROOF_TYPES),
  redirect_to
})

export const IdentityParams = Closed({
  identity_id: Type.String({
    maxLength: 60, description: 'L’`identity_id` dell’identità, un UUID: in `identities` dell’utente'
  })
})

export const AuthorizeQuery = Open({
  provider: text(60, 'Il nome di un provider di OAUTH_PROVIDERS: `true` in `external` di GET /auth/v1/settings. Per ' +
    'accedere anche `custom:locanda`, le pagine di questo server, che vogliono `code_challenge`'),
  redirect_to,
  scopes: text(500, 'Ambiti da chiedere al provider oltre ai soliti, separati da spazi'),
  code_challenge: text(128, CHALLENGE),
  code_challenge_method: text(10, CHALLENGE_METHOD),
  prompt: text(40, 'Passato al provider com’è, per esempio `select_account`; così anche `login_hint`, `hd` e simili')
})
export const LinkIdentityQuery = Open({
  ...AuthorizeQuery.properties,
  skip_http_redirect: text(10, '`true`: l’indirizzo del provider viene nella risposta, al posto di un 302')
})
export const CallbackQuery = Open(
  {
    state: text(100, 'Quale accesso è: quello che il provider ha avuto con la richiesta; vale una volta'),
    code: text(4096, 'Il codice del provider, che il server scambia con l’identità'),
    error: text(200, 'Il codice d’errore del provider, al posto di `code`'),
    error_description: text(2000, 'L’errore del provider, in parole'),
    iss: text(500, 'Quale provider risponde (RFC 9207): dev’essere quello a cui si è chiesto')
  },
  {
    examples: [{ state: '0b7c8a7e-51c4-4f3e-8a54-0d7d0c9b5a11', code: 'abc' }]
  }
)

/* Administration. */

export const AdminUsersQuery = Open({
  page: text(10, 'Quale pagina, da 1; se manca, la prima'),
  per_page: text(10, 'Utenti per pagina, al massimo 1000; se manca, 50'),
  filter: text(254, 'Testo cercato nell’e-mail e in `user_metadata`, senza badare alle maiuscole'),
  sort: text(40, '`created_at asc` o `created_at desc`; se manca, dal più recente')
})
export const UserParams = Closed({
  user_id: Type.String({ maxLength: 60, description: 'L’id dell’utente, un UUID' })
})

const adminFields = {
  email: Type.Optional(Email),
  phone,
  password: Type.Optional(Password),
  password_hash: text(300, 'Al posto di `password`: la sua impronta, bcrypt o Argon2'),
  email_confirm: Type.Optional(Type.Boolean({ description: '`true`: l’indirizzo conta come confermato' })),
  phone_confirm: Type.Optional(Type.Boolean()),
  user_metadata: Type.Optional(Metadata),
  app_metadata: Type.Optional(Metadata),
  ban_duration: text(30, 'Per quanto non può accedere, come `24h` o `1h30m`; `none` toglie il divieto'),
  role: text(40, 'Solo `authenticated`: i diritti sono in `app_metadata.role`'),
  aud: text(40, 'Solo `authenticated`')
}
export const AdminUserBody = Open(
  { id: Type.Optional(Uuid), ...adminFields },
  {
    examples: [
      {
        email: 'piero@example.org',
        password: 'una-frase-lunga-e-mia',
        email_confirm: true,
        app_metadata: { role: 'operator' }
      }
    ]
  }
)
export type AdminUserBody = Static<typeof AdminUserBody>
export const AdminUserChange = Open(
  {
    ...AdminUserBody.properties,
    rimuovi_secondo_fattore: Type.Optional(Type.Boolean({
      description: 'Toglie anche tutti i secondi fattori e le passkey, insieme al resto'
    }))
  },
  { examples: [{ app_metadata: { role: 'operator' } }] }
)
export type AdminUserChange = Static<typeof AdminUserChange>
export const DeleteUserBody = Open(
  {
    should_soft_delete: Type.Optional(Type.Boolean({
      description: '`true`: resta una riga vuota, e l’id non si usa più; se manca, no'
    }))
  },
  { examples: [{ should_soft_delete: false }] }
)

export const InviteBody = Open(
  { email: Email, data: Type.Optional(Metadata) },
  { examples: [{ email: 'piero@example.org' }] }
)
export const GenerateLinkBody = Open({
  type: OneOf(['signup', 'invite', 'magiclink', 'recovery', 'email_change_current', 'email_change_new']),
  email: Email,
  new_email: Type.Optional(Type.String({ ...Email, description: 'Di `email_change_…`: l’indirizzo nuovo' })),
  password: Type.Optional(Password),
  data: Type.Optional(Metadata),
  redirect_to,
  redirectTo: text(2000, 'Un altro nome di `redirect_to`')
}, { examples: [{ type: 'recovery', email: 'anna@example.org' }] })
