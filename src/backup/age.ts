/** Milliseconds: a night was missed, and the next one, too. */
export const OLD_MS = 2 * 24 * 60 * 60_000
