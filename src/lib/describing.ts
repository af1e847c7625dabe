/**
 * Describes routes for OpenAPI under one tag: the function that is returned makes the schema of a route.
 * @param tag the group of routes that the description shows together
 */
export function describing (tag: string) {
  return <const T extends object>(operationId: string, summary: string, parts: T) =>
    ({ operationId, tags: [tag], summary, ...parts })
}
