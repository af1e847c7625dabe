import { routesUnder } from '#src/lib/routes-under.ts'

/** Options of the identity provider's routes. */
export const route = routesUnder('Provider di identità')
