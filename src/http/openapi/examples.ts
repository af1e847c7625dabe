export interface Shape {
  $ref?: string
  type?: string | string[]
  examples?: unknown[]
  enum?: unknown[]
  const?: unknown
  default?: unknown
  properties?: Record<string, Shape>
  required?: string[]
  items?: Shape
  anyOf?: Shape[]
}

/**
 * An example of a schema, put together from those of its parts; undefined where a part has none.
 * @param find the schema that a reference names
 */
export function exampleOf (schema: Shape, find: (ref: string) => Shape | undefined): unknown {
  const [given] = schema.examples ?? schema.enum ?? []
  if (given !== undefined) return given
  if (schema.const !== undefined) return schema.const
  if (schema.$ref !== undefined) {
    const named = find(schema.$ref)
    return named && exampleOf(named, find)
  }
  if (schema.anyOf !== undefined) return exampleOf(schema.anyOf[0]!, find)
  if (schema.properties !== undefined) return ofObject(schema, find)
  if (schema.items !== undefined) {
    const item = exampleOf(schema.items, find)
    return item === undefined ? [] : [item]
  }
  return ofType(schema)
}

/** Every field that has an example; a required one without it leaves the whole without. */
function ofObject ({ properties = {}, required = [] }: Shape, find: (ref: string) => Shape | undefined): unknown {
  const fields = Object.entries(properties).map(([name, part]) => [name, exampleOf(part, find)] as const)
  if (fields.some(([name, value]) => value === undefined && required.includes(name))) return undefined
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

function ofType ({ type, default: usual }: Shape): unknown {
  if (usual !== undefined) return usual
  if (Array.isArray(type)) return type.includes('null') ? null : ofType({ type: type[0]! })
  return type === 'boolean' ? true : type === 'object' ? {} : undefined
}
