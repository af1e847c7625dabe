export * from './alloggiati.ts'
export * from './bookings.ts'
export * from './system.ts'
