import type { LinkFault } from '../links.ts'
import { StorageError } from './errors.ts'

/** What Supabase Storage says of links, in fixed words: the token of a link is not repeated. */
const FAULTS: Readonly<Record<LinkFault, () => StorageError>> = {
  invalid: () => new StorageError('InvalidJWT', 'signature verification failed'),
  expired: () => new StorageError('InvalidJWT', '"exp" claim timestamp check failed'),
  other: () => new StorageError('InvalidSignature')
}

/** @throws StorageError for a link that is not good */
export function checkLink<T extends object> (link: T | LinkFault): T {
  if (typeof link === 'string') throw FAULTS[link]()
  return link
}
