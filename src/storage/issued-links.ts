import type { FastifyInstance, FastifyRequest } from 'fastify'
import { DOCUMENTS } from '#schemas/storage.ts'
import type { Transform } from '#schemas/storage-transform.ts'
import type { Credential, Principal } from '#src/http/auth.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'
import type { Links, SignedLink } from './links.ts'
import type { NamedFiles } from './named-files.ts'
import { checkLink, StorageError } from './protocol/errors.ts'

/*
 * Links to images of guests' documents are valid for a minute at most, and the audit log records them. They become void
 * when the issuer's session or key ends, or the issuer loses access. Every link becomes void when its file is replaced,
 * moved or deleted.
 */

const DOCUMENT_SECONDS = 60

/** Signs links that read files of one bucket, for the caller of a request. @throws RegistroNonDisponibile */
export async function issueLinks (
  request: FastifyRequest, links: Links, files: readonly (StoredFile & { transform?: Transform })[], seconds: number
): Promise<SignedLink[]> {
  const documents = files.filter(({ bucket }) => bucket === DOCUMENTS)
  if (documents.length === 0) return files.map((file) => links.signDownload(file, seconds))
  const { server: { audit, db }, principal } = request
  const lifetime = Math.min(seconds, DOCUMENT_SECONDS)
  await audit.append(db, {
    ...authorOf(request),
    action: 'documento_collegato',
    object: `bucket:${DOCUMENTS}`,
    details: { file: documents.map(({ name }) => name), secondi: lifetime }
  })
  const issuer = credentialOf(principal!)
  return files.map((file) => links.signDownload({ ...file, issuer }, lifetime))
}

/** The file of a link, and the issuer of the link. @throws StorageError */
export async function followLink (
  { identity }: Pick<FastifyInstance, 'identity'>,
  { links, namedFiles }: { links: Links, namedFiles: Pick<NamedFiles, 'named'> },
  place: Pick<StoredFile, 'bucket' | 'name'>,
  token: string
) {
  const { object, ...claims } = checkLink(links.readDownload(token, place))
  if (place.bucket === DOCUMENTS) {
    const isValid = claims.issuer !== undefined && await identity.authenticator.isStillValid(claims.issuer)
    if (!isValid) checkLink('expired')
  }
  const file = await namedFiles.named(place.bucket, place.name)
  // The link was made for an earlier file with this name.
  if (file.id !== object) throw new StorageError('NoSuchKey')
  return { ...claims, file }
}

function credentialOf ({ id, kind, userId, sessionId, keyId }: Principal): Credential {
  return { id, kind, ...userId && { userId }, ...sessionId && { sessionId }, ...keyId && { keyId } }
}
