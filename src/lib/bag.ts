/** Things that come and go by the thousand, in no order. */
export interface Bag<T extends object> {
  readonly items: readonly T[]
  add (item: T): void
  remove (item: T): void
}

/**
 * A bag that leaves nothing behind. A `Set` does: each time it tidies itself up it makes a new table, to which the old
 * one points. Once one such table has grown old, all later ones, and everything that they held at that moment, stay
 * until a full collection: measured on requests under way, a twelfth of all that was allocated.
 */
export function createBag<T extends object> (): Bag<T> {
  const place = Symbol('place')
  const items: (T & { [place]?: number })[] = []
  return {
    items,
    add (item: T & { [place]?: number }) {
      item[place] = items.push(item) - 1
    },
    remove (item: T & { [place]?: number }) {
      const at = item[place]
      if (at === undefined) return
      const last = items.pop()!
      item[place] = undefined
      if (last === item) return
      items[at] = last
      last[place] = at
    }
  }
}
