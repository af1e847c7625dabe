import type { Config } from '#src/config/config.ts'
import { createJwks } from './jwks.ts'
import { externalSettings } from './settings.ts'

/** No provider has a key of this name: it is asked for its keys, whichever they are. */
const NO_KEY = 'doctor'

/**
 * Whether the external provider gives its signing keys, and where they were asked for.
 * @returns the provider's host
 * @throws ProviderNonRaggiungibile, and ConfigError naming the variable
 */
export async function checkProvider (config: Config): Promise<string> {
  const { url, base } = externalSettings(config)
  await createJwks({ url: `${base}/.well-known/jwks.json`, log: { warn: () => {} } }).key(NO_KEY)
  return new URL(url).host
}
