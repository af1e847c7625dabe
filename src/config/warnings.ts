import type { Config } from './config.ts'

/** What stops no start and is probably not meant: a fixed line of the log each. */
export function configWarnings ({ PUBLIC_URL, ALLOGGIATI_MODE, ALLOGGIATI_UTENTE, BACKUP_DIR }: Config): string[] {
  const { hostname } = new URL(PUBLIC_URL)
  const isProduction = ALLOGGIATI_MODE === 'production'
  return [
    ...(hostname === '0.0.0.0' || hostname === '[::]'
      ? ['PUBLIC_URL is not set, and HOST is every address: links in mails and pages lead nowhere']
      : []),
    ...(isProduction && ALLOGGIATI_UTENTE === undefined
      ? ['production mode without credentials of the police: nothing can be sent']
      : []),
    // What doctor says of it.
    ...(isProduction && BACKUP_DIR === undefined
      ? ['no nightly backups: set BACKUP_DIR and BACKUP_PASSPHRASE']
      : [])
  ]
}
