/* What other areas and the app may use of bookings. */
export { countryName } from './countries.ts'
export { countByCountry, countDay, type DayCounts } from './counts.ts'
export { PrenotazioneNonTrovata } from './errors.ts'
export { placeGuest, type GuestPlace, type SavedGuest } from './guests.ts'
export { default as bookingHooks, type BeforeDelete, type GuestsRemoved } from './hooks.ts'
export { default as holdings, jsonFile, type ExportFile, type Holding } from './holdings.ts'
export { default as bookings } from './routes.ts'
export {
  bookingExists, keepBookings, lockBooking, placesFor, savedGuests, staysByArrival, staysById, staysDuring,
  staysWithGuests, stayWithGuests, welcomedStay, type Kept, type StayWithGuests, type WelcomedStay
} from './stays.ts'
