import type { Config } from './config.ts'

/** What stops no start and is probably not meant: a fixed line of the log each. */
export function configWarnings ({ PUBLIC_URL, ALLOGGIATI_MODE, ALLOGGIATI_UTENTE }: Config): string[] {
  const { hostname } = new URL(PUBLIC_URL)
  return [
    ...(hostname === '0.0.0.0' || hostname === '[::]'
      ? ['PUBLIC_URL is not set, and HOST is every address: links in mails and pages lead nowhere']
      : []),
    ...(ALLOGGIATI_MODE === 'production' && ALLOGGIATI_UTENTE === undefined
      ? ['production mode without credentials of the police: nothing can be sent']
      : [])
  ]
}
