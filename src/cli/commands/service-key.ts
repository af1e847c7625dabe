import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Environment } from '#schemas/config.ts'
import type { Context } from '../context.ts'
import { CliError, EXIT, type Exit } from '../errors.ts'

/**
 * The key of the server whose environment this is, with all rights. No server is asked: a person who can read the
 * server's secrets can make it.
 */
export async function printServiceKey ({ terminal: { env }, out }: Context): Promise<Exit> {
  const dataDir = env.DATA_DIR || Environment.properties.DATA_DIR.default
  // Reading the configuration would make a key of its own for a server that does not exist.
  if (!env.MASTER_KEY && !existsSync(join(dataDir, 'master.key'))) {
    throw new CliError(
      EXIT.failed,
      'SERVER_NON_TROVATO',
      `Nessun server ha i suoi dati in ${dataDir}: servono l'ambiente e la cartella del server (DATA_DIR, MASTER_KEY)`
    )
  }
  const [{ ConfigError, readConfig }, { createKeys }, { serviceKey }] = await Promise.all([
    import('#src/config/config.ts'), import('#src/lib/secrets.ts'), import('#src/identity/index.ts')
  ])
  try {
    const config = readConfig(env)
    const key = serviceKey(config, createKeys(config.MASTER_KEY))
    out.note('Questa chiave ha tutti i diritti e non si può revocare: tenerla segreta.')
    out.result(key, { serviceKey: key })
    return EXIT.ok
  } catch (err) {
    if (err instanceof ConfigError) throw new CliError(EXIT.failed, 'CONFIGURAZIONE', err.message)
    throw err
  }
}
