/** A number with its noun, e.g. `1 ospite`, `2 ospiti`. */
export function countWithNoun (count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
