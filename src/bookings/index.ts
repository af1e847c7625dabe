/* What other areas and the app may use of bookings. */
export { countryName } from './countries.ts'
export { countByCountry, countDay, type DayCounts } from './counts.ts'
export { default as bookingHooks, type BeforeDelete } from './hooks.ts'
export { default as bookings } from './routes.ts'
export {
  bookingExists, keepBookings, savedGuests, staysByArrival, staysById, staysDuring, staysWithGuests, stayWithGuests,
  type StayWithGuests
} from './stays.ts'
