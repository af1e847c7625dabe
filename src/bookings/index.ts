/* Exports of bookings for other areas and the app. */
export { countryName } from './countries.ts'
export { staysOfDay, type DayStay } from './day-stays.ts'
export { PrenotazioneNonTrovata } from './errors.ts'
export {
  establishmentIds, findEstablishment, FIRST_ESTABLISHMENT, listEstablishments
} from './establishments/establishment-records.ts'
export {
  changedFields, establishments, type Establishments, type StoredEstablishment
} from './establishments/letterhead.ts'
export { peakOccupancy, type GuestDays, type OwnDays } from './guest-days.ts'
export { placeGuest, type SavedGuest } from './guests.ts'
export { default as bookingHooks, type BeforeDelete, type GuestsRemoved } from './booking-hooks.ts'
export {
  default as personalDataReports, REPORT_DEFAULTS, jsonFile, storedFile, type ExportFile, type PersonalDataReport
} from './personal-data-report.ts'
export { eraseBookings } from './repository.ts'
export { default as bookings } from './routes.ts'
export {
  apartmentsOfUnits, bookingExists, bookingsWithCodeOf, countByCountry, countDay, establishmentsOf, lockBooking,
  lockForShare, nightsOf, requirePlace, requireVersion, savedGuests, staysByArrival, staysById, staysDuring,
  staysWithGuests, stayWithGuests, welcomedStay,
  type DayCounts, type GuestPlace, type LockedBooking, type StayWithGuests, type WelcomedStay
} from './stays.ts'
