import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Authenticator } from '#src/plugins/auth.ts'
import type { ApiKeyFormat } from './keys/api-keys.ts'
import type { Changes } from './changes.ts'
import type { Directory } from './directory.ts'
import type { Passwords } from './sign-in/passwords.ts'
import type { TokenSigner } from './sign-in/sessions.ts'

/** What the server knows of people. */
export interface Identity {
  authenticator: Authenticator
  directory: Directory
  apiKeys: ApiKeyFormat
  passwords: Passwords
  /** Of the embedded provider; with an external one there is none, and asking for it is an error. */
  readonly signer: TokenSigner
  /** To be awaited after whatever takes somebody's rights away, before it is answered. */
  settled: Changes['settled']
}

/** What a provider, embedded or external, is put together from. */
export interface IdentityParts { config: Config, keys: Keys, passwords: Passwords }
