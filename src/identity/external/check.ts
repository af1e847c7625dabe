import type { Config } from '#src/config/config.ts'
import { createJwks } from './jwks.ts'
import { externalSettings } from './settings.ts'

/** A name that is not known makes it fetch the whole key set. */
const NO_KEY = 'doctor'

/**
 * Asks the external provider for its signing keys.
 * @returns the provider's host
 * @throws ProviderNonRaggiungibile, and ConfigError naming the variable
 */
export async function checkProvider (config: Config): Promise<string> {
  const { url, base } = externalSettings(config)
  await createJwks({ url: `${base}/.well-known/jwks.json`, log: { warn: () => {} } }).key(NO_KEY)
  return new URL(url).host
}
