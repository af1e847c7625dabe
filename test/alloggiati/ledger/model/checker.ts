/**
 * A finite system whose states are all visited: its initial state, the steps from each state, and the forbidden states.
 */
export interface System<S> {
  initial: S
  /** Every step from a state, with its name in a trace. */
  steps (state: S): Iterable<readonly [label: string, next: S]>
  /** A text that is equal for states which differ only in the names of interchangeable parts. */
  key (state: S): string
  /** The description of a violation in this state, if any. */
  wrong (state: S): string | undefined
  /** Whether the system may stay in this state. */
  atRest (state: S): boolean
}

export interface Outcome {
  states: number
  steps: number
  /** Missing when no state is wrong, and a state at rest can be reached from every state. */
  found?: { what: string, trace: string[] }
}

/** A state from which no state at rest is reachable. */
const STUCK = 'P2: stuck forever'

/**
 * Visits every state, breadth first, so that the trace to the first wrong state is as short as possible. Then it
 * searches backwards from the states at rest, to find a state that cannot reach them.
 * @throws RangeError beyond `limit` states, because an incomplete search is no result
 */
export function explore<S> ({ initial, steps, key, wrong, atRest }: System<S>, limit = 2_000_000): Outcome {
  const known = new Map([[key(initial), 0]])
  const from = [-1]
  const by = ['']
  const edges: number[] = []
  const rest: number[] = []
  let frontier: [number, S][] = [[0, initial]]
  const outcome = (found?: Outcome['found']): Outcome => ({
    states: known.size, steps: edges.length / 2, ...(found && { found })
  })
  const trace = (at: number): string[] => from[at] === -1 ? [] : [...trace(from[at]!), by[at]!]

  while (frontier.length > 0) {
    const next: [number, S][] = []
    for (const [id, state] of frontier) {
      if (atRest(state)) rest.push(id)
      for (const [label, reached] of steps(state)) {
        const name = key(reached)
        let target = known.get(name)
        if (target === undefined) {
          target = known.size
          if (target >= limit) throw new RangeError(`more than ${limit} states`)
          known.set(name, target)
          from.push(id)
          by.push(label)
          const what = wrong(reached)
          if (what !== undefined) return outcome({ what, trace: trace(target) })
          next.push([target, reached])
        }
        edges.push(id, target)
      }
    }
    frontier = next
  }
  const lost = cannotRest(known.size, edges, rest)
  return outcome(lost === undefined ? undefined : { what: STUCK, trace: trace(lost) })
}

/** The first state, in the order of discovery, from which no state of `rest` can be reached. */
function cannotRest (states: number, edges: readonly number[], rest: number[]): number | undefined {
  // All steps in one flat list, sorted by target. The steps into state s begin at first[s].
  const first = new Int32Array(states + 1)
  for (let i = 1; i < edges.length; i += 2) first[edges[i]! + 1]!++
  for (let s = 0; s < states; s++) first[s + 1]! += first[s]!
  const fill = first.slice()
  const sources = new Int32Array(edges.length / 2)
  for (let i = 0; i < edges.length; i += 2) sources[fill[edges[i + 1]!]!++] = edges[i]!

  const can = new Uint8Array(states)
  for (const s of rest) can[s] = 1
  for (let s = rest.pop(); s !== undefined; s = rest.pop()) {
    for (let i = first[s]!; i < first[s + 1]!; i++) {
      if (can[sources[i]!] === 1) continue
      can[sources[i]!] = 1
      rest.push(sources[i]!)
    }
  }
  const lost = can.indexOf(0)
  return lost === -1 ? undefined : lost
}
