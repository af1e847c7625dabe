import type { Readable } from 'node:stream'
import fp from 'fastify-plugin'
import type { HeldData } from '#schemas/privacy.ts'
import type { Executor } from '#src/database/connect.ts'
import type { FileService, StoredFile } from '#src/services/files/file-service.ts'

/** A file in the export of a booking. */
export interface ExportFile {
  /** Path in the archive: ASCII, with slashes between folders. */
  path: string
  changed: Date
  /** The content, or a function that opens a stream of exactly `bytes` bytes. */
  content: Buffer | { bytes: number, open (): Promise<Readable> }
}

/** An area's part of the personal-data report of a booking. Also called for deleted bookings, whose data may remain. */
export interface PersonalDataReport {
  /** Lists the personal data with retention and reason. */
  describe (db: Executor, booking: number): Promise<HeldData[]>
  /** The files that the data subject receives. */
  files (db: Executor, booking: number): Promise<ExportFile[]>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Adds an area's part of the report, so that bookings do not import the area. Booking hooks delete the data. */
    addPersonalDataReport (report: PersonalDataReport): void
    /** The parts in the order in which they were added. Only the bookings area may read them. */
    personalDataReports: readonly PersonalDataReport[]
  }
}

/** The registry of the areas' personal-data reports. Register it before the areas. */
export default fp(async function personalDataReports (app) {
  const personalDataReports: PersonalDataReport[] = []
  app.decorate('personalDataReports', personalDataReports)
  app.decorate('addPersonalDataReport', (report) => { personalDataReports.push(report) })
}, { name: 'personal-data-reports' })

/** The complete personal-data report of a booking. */
export async function describePersonalData (
  personalDataReports: readonly PersonalDataReport[],
  db: Executor,
  booking: number
): Promise<HeldData[]> {
  const held: HeldData[] = []
  for (const report of personalDataReports) held.push(...await report.describe(db, booking))
  return held
}

/** A JSON file of an export. */
export function jsonFile (path: string, value: unknown): ExportFile {
  return { path, changed: new Date(), content: Buffer.from(`${JSON.stringify(value, null, 2)}\n`) }
}

/** A stored file in an export. */
export function storedFile (files: Pick<FileService, 'read'>, path: string, object: StoredFile): ExportFile {
  return { path, changed: object.updated_at, content: { bytes: object.size, open: () => files.read(object) } }
}

/** Defaults of a report entry. */
export const REPORT_DEFAULTS = {
  quanti: 1, ospite: null, lato: null, riferimento: null, fino_a: null, per_legge: false
} as const satisfies Partial<HeldData>
