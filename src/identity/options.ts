import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'

/** What every part of identity is set up with: the settings and the keys of this installation. */
export interface IdentityOptions { config: Config, keys: Keys }
