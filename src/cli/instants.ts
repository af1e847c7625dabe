/* Instants as people read them; days are shown as they come, which is how they are typed as well. */

// The Swedish form is the ISO one: 2026-11-21 10:30.
const minutes = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Rome', dateStyle: 'short', timeStyle: 'short' })

/** Day and time in Italy of an ISO 8601 instant; what is none stays as it is. */
export function moment (instant: string): string {
  return Number.isNaN(Date.parse(instant)) ? instant : minutes.format(new Date(instant))
}

/** The day in Italy of an ISO 8601 instant. */
export function day (instant: string): string {
  return moment(instant).split(' ', 1)[0] ?? instant
}
