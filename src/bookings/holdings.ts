import type { Readable } from 'node:stream'
import fp from 'fastify-plugin'
import type { HeldData } from '#schemas/privacy.ts'
import type { Executor } from '#src/database/connect.ts'
import type { Storage, StoredObject } from '#src/services/files/storage.ts'

/** A file of the export of a booking. */
export interface ExportFile {
  /** In the archive: ASCII, with slashes between folders. */
  path: string
  changed: Date
  /** The content, or how a file that is as long as `bytes` says is read. */
  content: Buffer | { bytes: number, open (): Promise<Readable> }
}

/** What an area holds of a booking. It is asked for bookings that are gone, too: something may be left of them. */
export interface Holding {
  /** What is held, until when and why. */
  describe (db: Executor, booking: number): Promise<HeldData[]>
  /** The files in which the person to whom the data belong gets them. */
  files (db: Executor, booking: number): Promise<ExportFile[]>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Says what an area holds of bookings, which need not know the areas. What goes with a booking, a hook deletes. */
    addHolding (holding: Holding): void
    /** What was added, in that order: for the bookings area alone. */
    holdings: readonly Holding[]
  }
}

/** What all areas hold of a booking. Registered before the areas. */
export default fp(async function holdings (app) {
  const holdings: Holding[] = []
  app.decorate('holdings', holdings)
  app.decorate('addHolding', (holding) => { holdings.push(holding) })
}, { name: 'holdings' })

/** What all areas hold of a booking. */
export async function describeAll (
  holdings: readonly Holding[],
  db: Executor,
  booking: number
): Promise<HeldData[]> {
  const held: HeldData[] = []
  for (const holding of holdings) held.push(...await holding.describe(db, booking))
  return held
}

/** A JSON file of an export. */
export function jsonFile (path: string, value: unknown): ExportFile {
  return { path, changed: new Date(), content: Buffer.from(`${JSON.stringify(value, null, 2)}\n`) }
}

/** A file of the storage in an export. */
export function storedFile (storage: Pick<Storage, 'read'>, path: string, object: StoredObject): ExportFile {
  return { path, changed: object.updated_at, content: { bytes: object.size, open: () => storage.read(object) } }
}

/** What most of what is held has in common. */
export const HELD = {
  quanti: 1, ospite: null, lato: null, riferimento: null, fino_a: null, per_legge: false
} as const satisfies Partial<HeldData>
