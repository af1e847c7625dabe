import { isLedgersKey } from '#src/alloggiati/index.ts'
import { lastMigration } from '#src/database/last-migration.ts'
import { OperationError } from '../errors.ts'
import { onInstallation, readEnvironment, type Environ } from '../installation.ts'
import { proxy, publicUrl, tls } from './public-url.ts'
import { clock, database } from './database.ts'
import { fault, look, type Finding } from './finding.ts'
import { backups, disk, masterKey } from './host.ts'
import { files, mail, police, provider, redis } from './servers.ts'

/** Looks at everything that an installation needs; nothing is changed, and nothing is sent. */
export async function examine (environ: Environ): Promise<Finding[]> {
  try {
    const config = readEnvironment(environ)
    const onHost = [
      ...await look('disco', disk(config)),
      ...await look('salvataggi', backups(config)),
      ...await look('indirizzo', publicUrl(config)),
      ...await look('TLS', tls(config)),
      ...await look('proxy', proxy(config)),
      ...await look('accesso', provider(config))
    ]
    return [...await inside(environ), ...onHost]
  } catch (err) {
    if (!(err instanceof OperationError)) throw err
    return [{ subject: 'configurazione', ...fault(err.message) }]
  }
}

/** What is known through the database alone; a database that is not there is a fault, and the rest is told. */
async function inside (environ: Environ): Promise<Finding[]> {
  try {
    return await onInstallation(environ, false, async (installation) => {
      const { config, keys, sql, db } = installation
      const isMigrated = await lastMigration(sql) !== undefined
      const isOwn = isMigrated ? await isLedgersKey(db, keys) : undefined
      return [
        ...await look('chiave', masterKey(config, isOwn)),
        ...await look('database', database(sql, config)),
        ...await look('orologio', clock(sql)),
        ...isMigrated ? await look('file', files(installation)) : [],
        ...await look('posta', mail(installation)),
        ...await look('redis', redis(installation)),
        ...await look('polizia', police(installation))
      ]
    })
  } catch (err) {
    if (!(err instanceof OperationError)) throw err
    return [{ subject: 'database', ...fault(err.message) }]
  }
}
