/* Exports of letters for the app and for areas above. */
export { default as letters } from './plugin.ts'
export { bookingsWithLetter } from './repository.ts'
