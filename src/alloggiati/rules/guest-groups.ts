import { leaderTypeOf, memberTypeOf } from '#schemas/guest-types.ts'

/**
 * A list, given by its guest types, cut into its groups as indices in order: a leader with the members that follow at
 * once, or one guest alone. A member without its leader is a group of its own, so no index is ever lost.
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
