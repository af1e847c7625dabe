import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Ref } from '#schemas/common.ts'
import {
  BucketCreation, BucketList, BucketListQuery, BucketMade, BucketParams, BucketUpdate, StorageBucket
} from '#schemas/storage-bucket.ts'
import { Done, NoFields } from '#schemas/storage-protocol.ts'
import { FILE_BYTES_MAX } from '#schemas/storage-upload.ts'
import type { Transaction } from '#src/database/connect.ts'
import { authorOf } from '#src/services/audit/log.ts'
import {
  type BucketSettings, createBucket, deleteBucket, isBuiltIn, listBuckets, updateBucket
} from '../buckets.ts'
import { isBucketName, isFreeBucketName } from '../file-names.ts'
import { discardSome } from '../object-rows.ts'
import { route, type ProtocolOptions } from '../named-files.ts'
import { StorageError } from './errors.ts'
import { isMediaRange } from './media-types.ts'
import { presentBucket } from './present-files.ts'

const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 }

/**
 * Parses a size limit as Supabase Storage does: a number of bytes, or a text with a decimal unit.
 * @throws StorageError
 */
function readFileSize (value: number | string): number {
  if (typeof value === 'number') return checkFileSize(value)
  const [, amount = '', unit = ''] = /^(\d{1,12}(?:\.\d{1,3})?)(gb|mb|kb|b)?$/i.exec(value.trim()) ?? []
  if (amount === '') {
    throw new StorageError('InvalidRequest', 'Invalid file size format, hint: use 20GB / 20MB / 30KB / 3B')
  }
  return checkFileSize(Math.floor(Number(amount) * (UNITS[unit.toLowerCase()] ?? 1)))
}

/** @throws StorageError EntityTooLarge, like the real server for a limit above its own */
function checkFileSize (bytes: number): number {
  if (bytes > FILE_BYTES_MAX) throw new StorageError('EntityTooLarge')
  return bytes
}

/** Maximum files that one transaction discards. */
const BATCH = 1000

const UPDATED = 'Successfully updated'
const EMPTIED = 'Empty bucket has been queued. Completion may take up to an hour.'
const DELETED = 'Successfully deleted'

const listRoute = route({ access: 'auth' }, 'storageListBuckets', 'I bucket', {
  querystring: BucketListQuery, response: { 200: BucketList }
})

const getRoute = route({ access: 'auth' }, 'storageGetBucket', 'Un bucket', {
  params: BucketParams, response: { 200: Ref(StorageBucket) }
})

const createRoute = route({ access: 'admin' }, 'storageCreateBucket', 'Crea un bucket', {
  body: BucketCreation, response: { 200: BucketMade }
})

const updateRoute = route({ access: 'admin' }, 'storageUpdateBucket', 'Cambia un bucket', {
  params: BucketParams, body: BucketUpdate, response: { 200: Done(UPDATED) }
})

const emptyRoute = route({ access: 'admin' }, 'storageEmptyBucket', 'Svuota un bucket', {
  params: BucketParams, body: NoFields, response: { 200: Done(EMPTIED) }
})

const deleteRoute = route({ access: 'admin' }, 'storageDeleteBucket', 'Elimina un bucket vuoto', {
  params: BucketParams, response: { 200: Done(DELETED) }
})

/** Routes of buckets. Every authenticated caller may see them. Only administrators may create and change them. */
const bucketRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { namedFiles }) => {
  const { db, files } = app

  app.get('/bucket', listRoute, async (request) =>
    (await listBuckets(db, request.query)).map((bucket) => ({ ...presentBucket(bucket), type: 'STANDARD' })))

  app.get('/bucket/:bucket', getRoute, async ({ params: { bucket } }) => presentBucket(await namedFiles.bucket(bucket)))

  app.post('/bucket', createRoute, async (request) => {
    const { body: { name, id = name, type, ...fields } } = request
    if (type === 'ANALYTICS') throw new StorageError('FeatureNotEnabled')
    if (id !== name) throw new StorageError('InvalidBucketName', `Bucket name "${name}" must be its id "${id}"`)
    if (!isFreeBucketName(id)) throw new StorageError('InvalidBucketName')
    const settings = settingsOf(fields)
    await recorded(request, 'bucket_creato', id, (tx) => createBucket(tx, id, settings))
    return { name: id }
  })

  app.put('/bucket/:bucket', updateRoute, async (request) => {
    const id = changeable(request.params.bucket)
    const settings = settingsOf(request.body)
    if (Object.keys(settings).length === 0) throw new StorageError('InvalidRequest')
    await recorded(request, 'bucket_modificato', id, (tx) => updateBucket(tx, id, settings))
    return { message: UPDATED }
  })

  app.post('/bucket/:bucket/empty', emptyRoute, async (request) => {
    const { id } = await namedFiles.bucket(request.params.bucket)
    if (!namedFiles.isWritable(id)) throw new StorageError('AccessDenied')
    let discarded: number
    do {
      discarded = await db.transaction(async (tx) => {
        const count = await discardSome(tx, files, id, BATCH)
        if (count > 0) await note(request, tx, 'bucket_svuotato', id, { file: count })
        return count
      })
    } while (discarded === BATCH)
    files.removeDiscarded()
    return { message: EMPTIED }
  })

  app.delete('/bucket/:bucket', deleteRoute, async (request) => {
    const id = changeable(request.params.bucket)
    await recorded(request, 'bucket_eliminato', id, (tx) => deleteBucket(tx, id))
    return { message: DELETED }
  })

  type Action = 'bucket_creato' | 'bucket_modificato' | 'bucket_svuotato' | 'bucket_eliminato'

  async function recorded (
    request: FastifyRequest, action: Action, id: string, act: (tx: Transaction) => Promise<void>
  ) {
    await db.transaction(async (tx) => {
      await act(tx)
      await note(request, tx, action, id)
    })
  }

  async function note (
    request: FastifyRequest, tx: Transaction, action: Action, id: string, details: Record<string, number> = {}
  ) {
    await app.audit.append(tx, { ...authorOf(request), action, object: `bucket:${id}`, details })
  }
}
export default bucketRoutes

/** @throws StorageError for a built-in bucket, or an invalid name */
function changeable (id: string): string {
  if (!isBucketName(id)) throw new StorageError('NoSuchBucket')
  if (isBuiltIn(id)) throw new StorageError('AccessDenied', 'This bucket cannot be changed')
  return id
}

function settingsOf (body: BucketUpdate): BucketSettings {
  const { public: isPublic, file_size_limit: limit } = body
  const types = body.allowed_mime_types?.filter((type) => type !== '') ?? body.allowed_mime_types
  const wrong = types?.find((type) => !isMediaRange(type))
  if (wrong !== undefined) throw new StorageError('InvalidMimeType', `mime type ${wrong} is not supported`)
  return {
    ...(isPublic === undefined ? {} : { public: isPublic }),
    ...(limit === undefined ? {} : { file_size_limit: limit === null ? null : readFileSize(limit) }),
    ...(types === undefined ? {} : { allowed_mime_types: types })
  }
}
