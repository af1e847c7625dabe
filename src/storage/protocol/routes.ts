import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Ref } from '#schemas/common.ts'
import { StorageBucket } from '#schemas/storage-bucket.ts'
import { StorageErrorBody } from '#schemas/storage-protocol.ts'
import emptyBody from '#src/http/empty-body.ts'
import bucketRoutes from './bucket-routes.ts'
import downloadRoutes from './download-routes.ts'
import { renderStorageError, StorageError } from './errors.ts'
import linkRoutes from './link-routes.ts'
import objectRoutes from './object-routes.ts'
import renderRoutes from './render-routes.ts'
import type { ProtocolOptions } from '../named-files.ts'
import uploadRoutes from './upload-routes.ts'

/** Features of Supabase Storage that this server lacks: resumable uploads, S3, tables, vectors, CDN. */
const NOT_OFFERED = /^\/storage\/v1\/(?:upload\/resumable|s3|iceberg|vector|cdn)(?:\/|\?|$)/i

/** The protocol of Supabase Storage (paths, bodies, errors, codes), so that the official clients work unchanged. */
const protocol: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { links, namedFiles }) => {
  // A new object, because this plugin's options also contain the prefix.
  const options = { links, namedFiles }
  for (const schema of [StorageErrorBody, StorageBucket]) app.addSchema(schema)
  app.setErrorHandler(renderStorageError)
  app.setNotFoundHandler(({ url }) => {
    throw new StorageError(NOT_OFFERED.test(url) ? 'FeatureNotEnabled' : 'NoSuchRoute')
  })
  app.addHook('onRoute', ({ schema }) => {
    if (schema) {
      schema.response = { ...(schema.response as object), '4xx': Ref(StorageErrorBody), '5xx': Ref(StorageErrorBody) }
    }
  })

  await app.register(uploadRoutes, options)
  await app.register(downloadRoutes, options)
  await app.register(renderRoutes, options)
  await app.register(async (json) => {
    await json.register(emptyBody)
    for (const routes of [objectRoutes, linkRoutes, bucketRoutes]) await json.register(routes, options)
  })
}
export default protocol
