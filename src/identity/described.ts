import { describing } from '#src/lib/describing.ts'

/** The schema of a route of the provider, as the description of the API shows it. */
export const described = describing('Provider di identità')
