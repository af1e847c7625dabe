import { routesUnder } from '#src/lib/routes-under.ts'

/** The options of a route of the provider. */
export const route = routesUnder('Provider di identità')
