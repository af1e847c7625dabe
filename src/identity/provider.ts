import type { Authenticator } from '#src/http/auth.ts'
import type { ChangeListener } from '#src/database/changes.ts'
import type { Directory } from './directory.ts'
import type { ApiKeyFormat } from './keys/api-keys.ts'
import type { IdentityOptions } from './options.ts'
import type { Passwords } from './sign-in/passwords.ts'
import type { TokenSigner } from './sign-in/session-answer.ts'

/** The identity provider of this server, embedded or external. */
export interface IdentityProvider {
  authenticator: Authenticator
  directory: Directory
  apiKeys: ApiKeyFormat
  passwords: Passwords
  /** Of the embedded provider. An external provider has none: reading it throws. */
  readonly signer: TokenSigner
  /** To be awaited after a change that takes rights away, before the request is answered. */
  waitForListeners: ChangeListener['waitForListeners']
}

/** What a provider, embedded or external, is built from. */
export interface ProviderOptions extends IdentityOptions {
  passwords: Passwords
  /** For tests: milliseconds for one answer of an external provider, in place of the usual seconds. */
  timeoutMs?: number
}
