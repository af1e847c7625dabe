import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { storageAccess } from './access.ts'
import { namedFiles } from './named-files.ts'
import { createLinks } from './links.ts'
import protocol from './protocol/routes.ts'
import storageRoutes from './routes.ts'

/** Stored files by their names: the contract's endpoints, and the protocol of Supabase Storage. */
const storage: FastifyPluginAsyncTypebox<{ config: Config, keys: Keys }> = async (app, { config, keys }) => {
  const links = createLinks(keys)
  const access = storageAccess(app)
  const files = namedFiles(app, access)
  await app.register(storageRoutes, { publicUrl: config.PUBLIC_URL, links, files })
  await app.register(protocol, { links, access, files, prefix: '/storage/v1' })
}
export default storage
