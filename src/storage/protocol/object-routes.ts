import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { BucketParams } from '#schemas/storage-bucket.ts'
import { ListBody, ListV2Body } from '#schemas/storage-listing.ts'
import {
  Copied, CopyBody, Done, EntryList, FileParams, ListV2Answer, MoveBody, Moved, RemoveBody, Removed
} from '#schemas/storage-protocol.ts'
import type { FastifyRequest } from 'fastify'
import { authorOf } from '#src/services/audit/log.ts'
import type { StoredObject } from '#src/services/files/storage.ts'
import { listFolder, listPrefix } from '../listing.ts'
import { isFileName } from '../names.ts'
import { discardByName, findVisible, lockObject } from '../objects.ts'
import { StorageError } from './errors.ts'
import { tags, type ProtocolOptions } from './options.ts'
import { presentRow } from './present.ts'

interface Transfer { bucketId: string, sourceKey: string, destinationKey: string, destinationBucket?: string | null }

const REMOVED = 'Successfully deleted'

/** Lists of files, and what is done with files that are there. */
const objectRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { access, files }) => {
  const { db, storage } = app

  app.route({
    method: 'POST',
    url: '/object/list/:bucket',
    config: { access: 'auth', scope: 'lettura' },
    schema: {
      operationId: 'storageList',
      tags,
      summary: 'I file di una cartella',
      params: BucketParams,
      body: ListBody,
      response: { 200: EntryList }
    },
    handler: async (request) => await listFolder(db, await files.view(request, request.params.bucket), request.body)
  })

  app.route({
    method: 'POST',
    url: '/object/list-v2/:bucket',
    config: { access: 'auth', scope: 'lettura' },
    schema: {
      operationId: 'storageListV2',
      tags,
      summary: 'I file il cui nome inizia così, a parti',
      params: BucketParams,
      body: ListV2Body,
      response: { 200: ListV2Answer }
    },
    handler: async (request) => await listPrefix(db, await files.view(request, request.params.bucket), request.body)
  })

  app.route({
    method: 'DELETE',
    url: '/object/:bucket',
    config: { access: 'auth' },
    schema: {
      operationId: 'storageRemoveMany',
      tags,
      summary: 'Elimina dei file',
      params: BucketParams,
      body: RemoveBody,
      response: { 200: Removed }
    },
    handler: async (request) => (await remove(request, request.params.bucket, request.body.prefixes)).map(presentRow)
  })

  app.route({
    method: 'DELETE',
    url: '/object/:bucket/*',
    config: { access: 'auth' },
    schema: {
      operationId: 'storageRemove',
      tags,
      summary: 'Elimina un file',
      params: FileParams,
      response: { 200: Done(REMOVED) }
    },
    handler: async (request) => {
      const removed = await remove(request, request.params.bucket, [request.params['*']])
      if (removed.length === 0) throw new StorageError('NoSuchKey')
      return { message: REMOVED }
    }
  })

  app.route({
    method: 'POST',
    url: '/object/move',
    config: { access: 'auth' },
    schema: {
      operationId: 'storageMove',
      tags,
      summary: 'Sposta un file',
      body: MoveBody,
      response: { 200: Moved }
    },
    handler: async (request) => {
      const { file, to } = await transfer(request, request.body)
      const moved = await db.transaction(async (tx) => {
        const locked = await lockObject(tx, file.id)
        if (locked?.name !== file.name || locked.bucket !== file.bucket) throw new StorageError('NoSuchKey')
        const moved = await storage.move(tx, locked, to)
        await append(request, tx, 'file_spostato', moved, { da: file.bucket })
        return moved
      })
      return { message: 'Successfully moved', Id: moved.id, Key: moved.name }
    }
  })

  app.route({
    method: 'POST',
    url: '/object/copy',
    config: { access: 'auth', headers: { reads: ['X-Upsert'] } },
    schema: {
      operationId: 'storageCopy',
      tags,
      summary: 'Copia un file',
      body: CopyBody,
      response: { 200: Copied }
    },
    handler: async (request) => {
      const { file, to } = await transfer(request, request.body)
      const copy = await storage.copy(file, { ...to, owner: request.principal!.id })
      if (request.body.copyMetadata === false) copy.metadata = null
      const kept = await storage.settle(copy, () => db.transaction(async (tx) => {
        const kept = await storage.keep(tx, copy, { replace: request.headers['x-upsert'] === 'true' })
        await append(request, tx, 'file_caricato', kept, { copia_di: file.id })
        return kept
      }))
      return { Id: kept.id, Key: `${to.bucket}/${to.name}`, ...presentRow(kept) }
    }
  })

  async function remove (request: FastifyRequest, bucket: string, names: readonly string[]): Promise<StoredObject[]> {
    const view = await files.view(request, bucket)
    if (!(await access.mayRemove(request, bucket))) throw new StorageError('AccessDenied')
    const visible = (await findVisible(db, view, names.filter(isFileName))).map(({ name }) => name)
    if (visible.length === 0) return []
    const removed = await db.transaction(async (tx) => {
      const removed = await discardByName(tx, storage, bucket, visible)
      if (removed.length > 0) {
        await app.audit.append(tx, {
          ...authorOf(request),
          action: 'file_eliminati',
          object: `bucket:${bucket}`,
          details: { file: removed.map(({ id }) => id) }
        })
      }
      return removed
    })
    storage.removeDiscarded()
    return removed
  }

  /** A file that is to get another name, or a copy; neither bucket is one whose files have endpoints of their own. */
  async function transfer (request: FastifyRequest, body: Transfer) {
    const { bucketId, sourceKey, destinationKey: name, destinationBucket } = body
    const bucket = destinationBucket ?? bucketId
    const file = await files.visible(request, bucketId, sourceKey)
    await files.bucket(bucket)
    if (!access.isWritable(bucketId) || !access.isWritable(bucket)) throw new StorageError('AccessDenied')
    if (!isFileName(name)) throw new StorageError('InvalidKey')
    return { file, to: { bucket, name } }
  }

  async function append (
    request: FastifyRequest,
    tx: Parameters<typeof app.audit.append>[0],
    action: 'file_caricato' | 'file_spostato',
    { id, bucket }: StoredObject,
    details: Record<string, string>
  ): Promise<void> {
    await app.audit.append(tx, {
      ...authorOf(request), action, object: `file:${id}`, details: { bucket, ...details }
    })
  }
}
export default objectRoutes
