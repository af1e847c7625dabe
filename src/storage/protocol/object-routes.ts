import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { BucketParams } from '#schemas/storage-bucket.ts'
import { ListBody, ListV2Body } from '#schemas/storage-listing.ts'
import {
  Copied, CopyBody, Done, EntryList, FileParams, ListV2Response, MoveBody, Moved, RemoveBody, Removed
} from '#schemas/storage-protocol.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { authorOf } from '#src/services/audit/log.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'
import type { BucketRow } from '../buckets.ts'
import { listFolder, listPrefix } from '../listing.ts'
import { isFileName } from '../file-names.ts'
import { discardByName, findVisible, lockFile } from '../object-rows.ts'
import { route, type ProtocolOptions } from '../named-files.ts'
import { StorageError } from './errors.ts'
import { presentRow } from './present-files.ts'
import { cachingOf, checkType, fileLimit, metadataOfHeader } from './received.ts'

interface Transfer { bucketId: string, sourceKey: string, destinationKey: string, destinationBucket?: string | null }

const REMOVED = 'Successfully deleted'

const listRoute = route({ access: 'auth', scope: 'lettura' }, 'storageList', 'I file di una cartella', {
  params: BucketParams, body: ListBody, response: { 200: EntryList }
})

const listPartsRoute = route(
  { access: 'auth', scope: 'lettura' }, 'storageListV2', 'I file il cui nome ha un prefisso, a pagine', {
    params: BucketParams, body: ListV2Body, response: { 200: ListV2Response }
  }
)

const removeManyRoute = route({ access: 'auth' }, 'storageRemoveMany', 'Elimina dei file', {
  params: BucketParams, body: RemoveBody, response: { 200: Removed }
})

const removeRoute = route({ access: 'auth' }, 'storageRemove', 'Elimina un file', {
  params: FileParams, response: { 200: Done(REMOVED) }
})

const moveRoute = route({ access: 'auth' }, 'storageMove', 'Sposta un file', {
  body: MoveBody, response: { 200: Moved }
})

const copyRoute = route(
  { access: 'auth', headers: { reads: ['X-Upsert', 'X-Metadata'] } }, 'storageCopy', 'Copia un file', {
    body: CopyBody, response: { 200: Copied }
  }
)

/** Routes that list files, and operate on existing files. */
const objectRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, options) => {
  const { db, files, audit } = app
  const { namedFiles } = options

  app.post('/object/list/:bucket', listRoute, async (request) =>
    await listFolder(db, await namedFiles.view(request, request.params.bucket), request.body))

  app.post('/object/list-v2/:bucket', listPartsRoute, async (request) =>
    await listPrefix(db, await namedFiles.view(request, request.params.bucket), request.body))

  app.delete('/object/:bucket', removeManyRoute, async (request) => {
    const { params: { bucket }, body: { prefixes: names } } = request
    return (await remove(app, options, request, { bucket, names })).map(presentRow)
  })

  app.delete('/object/:bucket/*', removeRoute, async (request) => {
    const { bucket, '*': name } = request.params
    const removed = await remove(app, options, request, { bucket, names: [name] })
    if (removed.length === 0) throw new StorageError('NoSuchKey')
    return { message: REMOVED }
  })

  app.post('/object/move', moveRoute, async (request) => {
    const { file, to, bucket } = await transfer(options, request, request.body)
    checkFits(file, bucket)
    const moved = await db.transaction(async (tx) => {
      const locked = await lockFile(tx, file.id)
      if (locked?.name !== file.name || locked.bucket !== file.bucket) throw new StorageError('NoSuchKey')
      const moved = await files.move(tx, locked, to)
      const details = { bucket: moved.bucket, da: file.bucket }
      await audit.append(tx, { ...authorOf(request), action: 'file_spostato', object: `file:${moved.id}`, details })
      return moved
    })
    return { message: 'Successfully moved', Id: moved.object_id, Key: moved.name }
  })

  app.post('/object/copy', copyRoute, async (request) => {
    const { file, to, bucket } = await transfer(options, request, request.body)
    const changes = request.body.copyMetadata === false ? changesOf(request, bucket) : { metadata: file.metadata ?? {} }
    checkFits({ ...file, ...changes }, bucket)
    const copy = { ...await files.copy(file, { ...to, owner: request.principal!.id }), ...changes }
    const kept = await files.settle(copy, () => db.transaction(async (tx) => {
      const kept = await files.keep(tx, copy, { replace: request.headers['x-upsert'] === 'true' })
      const details = { bucket: kept.bucket, copia_di: file.id }
      await audit.append(tx, { ...authorOf(request), action: 'file_caricato', object: `file:${kept.id}`, details })
      return kept
    }))
    return { Id: kept.object_id, Key: `${to.bucket}/${to.name}`, ...presentRow(kept) }
  })
}
export default objectRoutes

async function remove (
  { db, files, audit }: FastifyInstance,
  { namedFiles }: ProtocolOptions,
  request: FastifyRequest,
  { bucket, names }: { bucket: string, names: readonly string[] }
): Promise<StoredFile[]> {
  const view = await namedFiles.view(request, bucket)
  if (!(await namedFiles.mayRemove(request, bucket))) throw new StorageError('AccessDenied')
  const visible = (await findVisible(db, view, names.filter(isFileName))).map(({ name }) => name)
  if (visible.length === 0) return []
  const removed = await db.transaction(async (tx) => {
    const removed = await discardByName(tx, files, bucket, visible)
    const details = { file: removed.map(({ object_id }) => object_id) }
    if (removed.length > 0) {
      await audit.append(tx, { ...authorOf(request), action: 'file_eliminati', object: `bucket:${bucket}`, details })
    }
    return removed
  })
  files.removeDiscarded()
  return removed
}

/** Checks the rights for a move or a copy. Buckets whose files have other endpoints are refused. */
async function transfer ({ namedFiles }: ProtocolOptions, request: FastifyRequest, body: Transfer) {
  const { bucketId, sourceKey, destinationKey: name, destinationBucket } = body
  const bucket = destinationBucket ?? bucketId
  const file = await namedFiles.visible(request, bucketId, sourceKey)
  const row = await namedFiles.bucket(bucket)
  if (!namedFiles.isWritable(bucketId) || !namedFiles.isWritable(bucket)) throw new StorageError('AccessDenied')
  if (!isFileName(name)) throw new StorageError('InvalidKey')
  return { file, to: { bucket, name }, bucket: row }
}

/** The limits of a bucket also apply to files from another one. @throws StorageError */
function checkFits (
  { bucket, content_type, size }: Pick<StoredFile, 'bucket' | 'content_type' | 'size'>, to: BucketRow
): void {
  if (bucket === to.id) return
  checkType(content_type, to)
  if (size > fileLimit(to)) throw new StorageError('EntityTooLarge')
}

/** The type, caching and metadata that a copy gets from the request instead of the original. */
function changesOf ({ body, headers }: FastifyRequest<{ Body: CopyBody }>, bucket: BucketRow) {
  const { mimetype, cacheControl } = body.metadata ?? {}
  if (mimetype !== undefined) checkType(mimetype, bucket)
  return {
    ...(mimetype === undefined ? {} : { content_type: mimetype }),
    ...(cacheControl === undefined ? {} : { cache_control: cachingOf(cacheControl) ?? null }),
    metadata: metadataOfHeader(headers['x-metadata']) ?? null
  }
}
