import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Authenticator } from '#src/http/auth.ts'
import type { NotificationListener } from '#src/database/notifications.ts'
import type { Directory } from './directory.ts'
import type { ApiKeyFormat } from './keys/api-keys.ts'
import type { OAuthClients } from './oauth/clients.ts'
import type { Passwords } from './sign-in/passwords.ts'
import type { TokenSigner } from './sign-in/session-response.ts'

export interface IdentityOptions { config: Config, keys: Keys }

export interface IdentityProvider extends IdentityOptions {
  authenticator: Authenticator
  directory: Directory
  apiKeys: ApiKeyFormat
  passwords: Passwords
  /** The signer of the embedded provider. With an external provider, access to it throws. */
  readonly signer: TokenSigner
  /** This server as an OAuth client of other providers. */
  clients: OAuthClients
  /** A request that revokes rights awaits this before its response. */
  waitForListeners: NotificationListener['waitForListeners']
}

export interface ProviderOptions extends IdentityOptions {
  passwords: Passwords
  /** For tests: timeout of a request to an external provider, in milliseconds. */
  timeoutMs?: number
}
