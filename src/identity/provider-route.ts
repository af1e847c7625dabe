import { routesUnder } from '#src/lib/routes-under.ts'

/** Options of the routes of the identity provider. */
export const route = routesUnder('Provider di identità')
