import { createSigner, createVerifier } from 'fast-jwt'
import type { Transform } from '#schemas/storage-transform.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Credential } from '#src/http/auth.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'

/** With this audience and a separate key, tokens of the identity provider are not valid for links. */
const AUDIENCE = 'locanda/storage'

/**
 * A link that reads one version of a file. It becomes void when the file is replaced or deleted. A link to a
 * guest's document also becomes void with the credential of its issuer. A link to a transformed image contains the
 * transformation, so that its reader cannot choose another one.
 */
interface DownloadClaims {
  scope: 'download'
  url: string
  object: string
  issuer?: Credential
  transform?: Transform | undefined
}

/** A link that writes one file on behalf of the caller who requested it. */
interface UploadClaims { scope: 'upload', url: string, owner: string, upsert: boolean }

type Claims = (DownloadClaims | UploadClaims) & { iat: number, exp: number }

/** The reason why a link is rejected. `other`: the link is for another file or purpose. */
export type LinkFault = 'invalid' | 'expired' | 'other'

type Named = Pick<StoredFile, 'bucket' | 'name'>

export interface SignedLink { token: string, expiresAt: Date }

interface UploadLink { owner: string, upsert: boolean }

export type Links = ReturnType<typeof createLinks>

/** Tokens of links, in the form of Supabase Storage (JWT, HS256). `now` is in milliseconds since the epoch. */
export function createLinks (keys: Keys) {
  const key = keys.derive('storage-link')
  const sign = createSigner({ key, algorithm: 'HS256' })
  // This file checks the expiry, so that tests can set the clock.
  const verify = createVerifier({
    key,
    algorithms: ['HS256'],
    allowedAud: AUDIENCE,
    requiredClaims: ['url', 'scope', 'iat', 'exp'],
    ignoreExpiration: true
  })

  function seal (claims: DownloadClaims | UploadClaims, seconds: number, now: number): SignedLink {
    const iat = Math.floor(now / 1000)
    const exp = iat + seconds
    return { token: sign({ ...claims, aud: AUDIENCE, iat, exp }), expiresAt: new Date(exp * 1000) }
  }

  function open (token: string, scope: Claims['scope'], url: string, now: number): Claims | LinkFault {
    let claims: Claims
    try {
      claims = verify(token) as Claims
    } catch {
      return 'invalid'
    }
    if (!(claims.exp * 1000 > now)) return 'expired'
    return claims.scope === scope && claims.url === url ? claims : 'other'
  }

  return {
    /** @param file with the `issuer` of a link to a guest's document, and the `transform` of an image */
    signDownload (
      file: Named & Pick<StoredFile, 'id'> & Pick<DownloadClaims, 'issuer' | 'transform'>,
      seconds: number,
      now = Date.now()
    ): SignedLink {
      const { id: object, issuer, transform } = file
      const claims = { ...issuer && { issuer }, ...transform && { transform } }
      return seal({ scope: 'download', url: urlOf(file), object, ...claims }, seconds, now)
    },
    signUpload: (file: Named, link: UploadLink, seconds: number, now = Date.now()): SignedLink =>
      seal({ scope: 'upload', url: urlOf(file), ...link }, seconds, now),
    /** The id of the link's object, its transformation, and the issuer of the link. */
    readDownload (
      token: string, file: Named, now = Date.now()
    ): Pick<DownloadClaims, 'object' | 'issuer' | 'transform'> | LinkFault {
      const claims = open(token, 'download', urlOf(file), now)
      return typeof claims === 'string' || claims.scope === 'download' ? claims : 'other'
    },
    readUpload (token: string, file: Named, now = Date.now()): UploadLink | LinkFault {
      const claims = open(token, 'upload', urlOf(file), now)
      return typeof claims === 'string' || claims.scope === 'upload' ? claims : 'other'
    }
  }
}

/** Unique for each file, because a bucket's name has no slash. */
function urlOf ({ bucket, name }: Named): string {
  return `${bucket}/${name}`
}
