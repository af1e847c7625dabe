import { isLedgersKey } from '#src/alloggiati/index.ts'
import { lastMigration } from '#src/database/journal.ts'
import { OperationError } from '../errors.ts'
import { onInstallation, readEnvironment, type Environ, type Installation } from '../commands.ts'
import { fault, look, type Finding } from './finding.ts'
import { backups, disk, masterKey, proxy, publicUrl, tls } from './host.ts'
import { clock, database, files, mail, police, provider, redis } from './servers.ts'

/** Checks everything that an installation needs. It changes no data and sends no message. */
export function examine (environ: Environ): Promise<Finding[]> {
  return orFault('configurazione', async () => {
    const config = readEnvironment(environ)
    const onHost = [
      ...await look('disco', () => disk(config)),
      ...await look('salvataggi', () => backups(config)),
      ...await look('indirizzo', () => publicUrl(config)),
      ...await look('TLS', () => tls(config)),
      ...await look('proxy', () => proxy(config)),
      ...await look('accesso', () => provider(config))
    ]
    return [...await orFault('database', () => onInstallation(environ, false, inside)), ...onHost]
  })
}

/** The checks that need the database. */
async function inside (installation: Installation): Promise<Finding[]> {
  const { config, keys, sql, db } = installation
  const isMigrated = await lastMigration(sql) !== undefined
  const isOwn = isMigrated ? await isLedgersKey(db, keys) : undefined
  return [
    ...await look('chiave', () => masterKey(config, isOwn)),
    ...await look('database', () => database(sql, config)),
    ...await look('orologio', () => clock(sql)),
    ...isMigrated ? await look('file', () => files(installation)) : [],
    ...await look('posta', () => mail(installation)),
    ...await look('redis', () => redis(installation)),
    ...await look('polizia', () => police(installation))
  ]
}

/** Turns an OperationError into a finding, so that the other checks are still reported. */
async function orFault (subject: string, work: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await work()
  } catch (err) {
    if (!(err instanceof OperationError)) throw err
    return [{ subject, ...fault(err.message) }]
  }
}
