import { IMAGE_STATES } from '#schemas/privacy.ts'
import { HELD, jsonFile, storedFile, type Holding } from '#src/bookings/index.ts'
import type { Storage } from '#src/services/files/storage.ts'
import { picturesOf } from './scan-pictures.ts'
import type { ScanRepository } from './repository.ts'
import type { ScanRetention } from './scan-retention.ts'

/** What is held of a booking in scans of its guests' documents. */
export function scanHolding (
  { storage, repository, retention }: {
    storage: Storage, repository: ScanRepository, retention: Pick<ScanRetention, 'judge'>
  }
): Holding {
  return {
    async describe (db, booking) {
      const scans = await repository.ofBooking(db, booking)
      const standings = await retention.judge(db, scans)
      return scans.map(({ id, guest_idx: ospite }, at) => {
        const { stato, until } = standings[at]!
        return {
          ...HELD,
          cosa: 'scansione',
          ospite,
          riferimento: String(id),
          stato: stato ?? 'in_scadenza',
          fino_a: until,
          motivo: IMAGE_STATES[stato ?? 'in_scadenza']
        }
      })
    },

    async files (db, booking) {
      const scans = await repository.ofBooking(db, booking)
      const pictures = await picturesOf(storage, db, scans.map(({ id }) => id))
      return [
        ...scans.map((scan) => jsonFile(`scansioni/${scan.id}.json`, repository.open(scan))),
        ...[...pictures.values()].map((picture) => storedFile(storage, picture.name, picture))
      ]
    }
  }
}
