const tags = ['Provider di identità']

/** The schema of a route of the provider, as the description of the API shows it. */
export function described<const T extends object> (operationId: string, summary: string, parts: T) {
  return { operationId, tags, summary, ...parts }
}
