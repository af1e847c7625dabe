export * from './alloggiati.ts'
export * from './bookings.ts'
export * from './identity.ts'
export * from './system.ts'
