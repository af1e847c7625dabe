/**
 * Returns a function that builds the options of routes in one OpenAPI group: `config` with the access, and `schema`
 * with operation id and summary.
 * @param tag the name of the group
 */
export function routesUnder (tag: string) {
  return <const C extends object, const S extends object>(
    config: C, operationId: string, summary: string, schemas: S
  ) => ({ config, schema: { operationId, tags: [tag], summary, ...schemas } })
}
