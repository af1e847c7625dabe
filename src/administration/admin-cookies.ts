import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { onlyValue } from '#src/lib/cookie-header.ts'
import { publicPath } from '#src/lib/local-paths.ts'
import type { Keys } from '#src/lib/secrets.ts'

/** The cookie that the contract names. Any client can forge it, so it grants no access without the session cookie. */
export const MARK_COOKIE = 'service_admin_access'
export const MARK = 'granted'
/** The session cookie of the pages. Browsers accept a name with this prefix only over a secure connection. */
export const SESSION_COOKIE = '__Secure-locanda_admin'

/** The attributes of both cookies. They have no expiry, so a browser deletes them when it closes. */
export function attributesFor (publicUrl: string) {
  return { path: `${publicPath(publicUrl)}/ad/`, httpOnly: true, secure: true, sameSite: 'strict' } as const
}

/** `<id>.<mac>`, hexadecimal: 128 random bits, and an HMAC-SHA256 that proves that this installation issued them. */
const FORM = /^([0-9a-f]{32})\.([0-9a-f]{64})$/
/** Maximum bytes of the whole `Cookie` header. This host sets few cookies, and they are small. */
const MAX_HEADER_BYTES = 4096

interface AdminCookies {
  /** A new session's cookie value, and the hash that is stored. */
  mint (): { value: string, idHash: Buffer }
  /**
   * The hash of the session's id, if each cookie is present exactly once and valid. An id that this installation did
   * not issue is not looked up in the database.
   */
  read (header: string | undefined): Buffer | undefined
}

export function adminCookies (keys: Keys): AdminCookies {
  const secret = keys.derive('admin-cookie')
  const mac = (id: string) => createHmac('sha256', secret).update(id).digest('hex')

  return {
    mint () {
      const id = randomBytes(16).toString('hex')
      return { value: `${id}.${mac(id)}`, idHash: digest(id) }
    },
    read (header = '') {
      if (header.length > MAX_HEADER_BYTES || onlyValue(header, MARK_COOKIE) !== MARK) return undefined
      const [, id, presented] = FORM.exec(onlyValue(header, SESSION_COOKIE) ?? '') ?? []
      if (id === undefined || presented === undefined) return undefined
      return timingSafeEqual(Buffer.from(mac(id)), Buffer.from(presented)) ? digest(id) : undefined
    }
  }
}

function digest (id: string): Buffer {
  return hash('sha256', id, 'buffer')
}
