import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Environment } from '#schemas/config.ts'
import type { Config } from '#src/config/config.ts'
import { CliError, EXIT } from './errors.ts'
import type { Terminal } from './terminal.ts'

/** The server whose environment this is. */
export interface ServerEnvironment {
  config: Config
  /** The key with all rights that the server makes itself; with an external provider it is not the one that counts. */
  ownServiceKey: string
  /** The same for a minute: what a call to the server is made with. */
  momentaryKey: string
}

/** @throws CliError where no server has been, or where it would not start */
export async function serverEnvironment (env: Terminal['env']): Promise<ServerEnvironment> {
  const dataDir = env.DATA_DIR || Environment.properties.DATA_DIR.default
  // Reading the configuration would make a key of its own for a server that does not exist.
  if (!env.MASTER_KEY && !existsSync(join(dataDir, 'master.key'))) {
    throw new CliError(
      EXIT.failed,
      'SERVER_NON_TROVATO',
      `Nessun server ha i suoi dati in ${dataDir}: servono l'ambiente e la cartella del server (DATA_DIR, MASTER_KEY)`
    )
  }
  const [{ ConfigError, readConfig }, { createKeys }, { momentaryServiceKey, serviceKey }] = await Promise.all([
    import('#src/config/config.ts'), import('#src/lib/secrets.ts'), import('#src/identity/index.ts')
  ])
  try {
    const config = readConfig(env)
    const keys = createKeys(config.MASTER_KEY)
    return { config, ownServiceKey: serviceKey(config, keys), momentaryKey: momentaryServiceKey(config, keys) }
  } catch (err) {
    if (err instanceof ConfigError) throw new CliError(EXIT.failed, 'CONFIGURAZIONE', err.message)
    throw err
  }
}
