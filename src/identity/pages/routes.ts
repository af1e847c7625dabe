import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Keys } from '#src/keys.ts'

/** The pages for administrators. */
const pages: FastifyPluginAsyncTypebox<{ keys: Keys }> = async () => {}
export default pages
