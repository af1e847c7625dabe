/* What other areas and the app may use of bookings. */
export { default as bookingHooks, type BeforeDelete } from './hooks.ts'
export { default as bookings } from './routes.ts'
export { bookingExists, keepBooking, staysByArrival, stayWithGuests, type StayWithGuests } from './stays.ts'
