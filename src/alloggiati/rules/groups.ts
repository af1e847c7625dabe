/**
 * Rows that one list may have: limit of the portal's file upload (guide p. 31); that of the web service is not stated.
 */
export const MAX_ROWS = 1000

/** Which leader a member follows. Source: guide p. 33, "righe immediatamente successive". */
const CAPO_DI: Readonly<Record<string, string>> = { 19: '17', 20: '18' }
const CAPI = new Set(Object.values(CAPO_DI))

interface Typed { readonly tipo_alloggiato?: unknown }

/**
 * The list cut into its groups, as indices in order: a leader with the members that follow at once, or one guest alone.
 * A member without its leader is a group of its own, so no index is ever lost.
 */
export function groups (ospiti: readonly Typed[]): number[][] {
  const result: number[][] = []
  let leader: string | undefined
  ospiti.forEach((ospite, index) => {
    const tipo = guestType(ospite)
    const current = result.at(-1)
    if (current !== undefined && leader !== undefined && CAPO_DI[tipo] === leader) {
      current.push(index)
    } else {
      result.push([index])
      leader = CAPI.has(tipo) ? tipo : undefined
    }
  })
  return result
}

/**
 * The list cut into batches of at most `maxRows` rows that never split a group; a larger group is a batch of its own.
 */
export function batches (ospiti: readonly Typed[], maxRows = MAX_ROWS): number[][] {
  const result: number[][] = []
  for (const group of groups(ospiti)) {
    const current = result.at(-1)
    if (current !== undefined && current.length + group.length <= maxRows) current.push(...group)
    else result.push([...group])
  }
  return result
}

function guestType (ospite: Typed | null): string {
  return typeof ospite?.tipo_alloggiato === 'string' ? ospite.tipo_alloggiato.trim() : ''
}
