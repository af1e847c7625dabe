/**
 * Makes a function for the routes that the description of the API shows together. It returns the options of a route:
 * its config (who may call it), and the schema with its operation id, its summary and what it takes and answers.
 * @param tag the name of the group
 */
export function routesUnder (tag: string) {
  return <const C extends object, const S extends object>(
    config: C, operationId: string, summary: string, schemas: S
  ) => ({ config, schema: { operationId, tags: [tag], summary, ...schemas } })
}
