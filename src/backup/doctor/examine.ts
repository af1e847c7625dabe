import { isLedgersKey } from '#src/alloggiati/index.ts'
import { lastMigration } from '#src/database/journal.ts'
import { OperationError } from '../errors.ts'
import { onInstallation, readEnvironment, type Environ, type Installation } from '../commands.ts'
import { fault, runCheck, type Finding } from './finding.ts'
import { backups, disk, masterKey, proxy, publicUrl, tls } from './host.ts'
import { clock, database, files, mail, police, provider, redis } from './servers.ts'

/** Runs all checks of an installation. They change no data, and send no mail and no schedina. */
export function examine (environ: Environ): Promise<Finding[]> {
  return orFault('configurazione', async () => {
    const config = readEnvironment(environ)
    const onHost = [
      ...await runCheck('disco', () => disk(config)),
      ...await runCheck('salvataggi', () => backups(config)),
      ...await runCheck('indirizzo', () => publicUrl(config)),
      ...await runCheck('TLS', () => tls(config)),
      ...await runCheck('proxy', () => proxy(config)),
      ...await runCheck('accesso', () => provider(config))
    ]
    return [...await orFault('database', () => onInstallation(environ, false, checkInstallation)), ...onHost]
  })
}

/** The checks that need the database. */
async function checkInstallation (installation: Installation): Promise<Finding[]> {
  const { config, keys, sql, db } = installation
  const isMigrated = await lastMigration(sql) !== undefined
  const isOwn = isMigrated ? await isLedgersKey(db, keys) : undefined
  return [
    ...await runCheck('chiave', () => masterKey(config, isOwn)),
    ...await runCheck('database', () => database(sql, config)),
    ...await runCheck('orologio', () => clock(sql)),
    ...isMigrated ? await runCheck('file', () => files(installation)) : [],
    ...await runCheck('posta', () => mail(installation)),
    ...await runCheck('redis', () => redis(installation)),
    ...await runCheck('polizia', () => police(installation))
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
