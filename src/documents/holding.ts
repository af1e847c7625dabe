import { IMAGE_STATES } from '#schemas/privacy.ts'
import type { Holding } from '#src/bookings/index.ts'
import type { Storage } from '#src/services/files/storage.ts'
import { DOCUMENTS, ofBooking } from './names.ts'
import type { ImageRetention } from './retention.ts'

/** What is held of a booking in images of its guests' documents. */
export function imageHolding (
  { storage, retention }: { storage: Storage, retention: Pick<ImageRetention, 'judge'> }
): Holding {
  return {
    async describe (db, booking) {
      const images = await retention.judge(db, await storage.findByPrefix(db, DOCUMENTS, ofBooking(booking)))
      return images.map(({ guest, side, stato, until }) => ({
        cosa: 'immagine_documento',
        quanti: 1,
        ospite: guest,
        lato: side,
        riferimento: null,
        stato,
        fino_a: until,
        motivo: IMAGE_STATES[stato],
        per_legge: false
      }))
    },

    async files (db, booking) {
      const images = await storage.findByPrefix(db, DOCUMENTS, ofBooking(booking))
      return images.map((image) => ({
        // `documenti/<guest>/<side>.<extension>`
        path: `documenti/${image.name.slice(ofBooking(booking).length)}`,
        changed: image.updated_at,
        content: { bytes: image.size, open: () => storage.read(image) }
      }))
    }
  }
}
