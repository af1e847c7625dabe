import { leaderTypeOf, memberTypeOf } from '#schemas/guest-types.ts'

/**
 * Splits a list of guest types into groups of indices: a leader with the members directly after, or one single guest. A
 * member without a leader is a separate group, so no index is lost.
 */
export function groupsOf (types: readonly string[]): number[][] {
  const groups: number[][] = []
  let leader: string | undefined
  types.forEach((type, index) => {
    const current = groups.at(-1)
    if (current !== undefined && leader !== undefined && leaderTypeOf(type) === leader) {
      current.push(index)
    } else {
      groups.push([index])
      leader = memberTypeOf(type) === undefined ? undefined : type
    }
  })
  return groups
}
