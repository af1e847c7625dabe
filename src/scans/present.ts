import type { Scan } from '#schemas/scan.ts'
import type { Executor } from '#src/database/connect.ts'
import type { Storage } from '#src/services/files/storage.ts'
import { picturesOf } from './pictures.ts'
import type { ScanRepository, StoredScan } from './repository.ts'
import type { ScanRetention } from './retention.ts'

/** Scans as the API shows them. */
export async function present (
  { storage, repository, retention }: { storage: Storage, repository: ScanRepository, retention: ScanRetention },
  db: Executor,
  scans: readonly StoredScan[]
): Promise<Scan[]> {
  const pictures = await picturesOf(storage, db, scans.map(({ id }) => id))
  const standings = await retention.judge(db, scans)
  return scans.map((scan, at) => ({
    id: scan.id,
    ...repository.open(scan),
    prenotazione_id: scan.prenotazione_id,
    guest_idx: scan.guest_idx,
    immagine: pictures.has(scan.id) ? `/api/v1/scansioni/${scan.id}/immagine` : null,
    fino_a: standings[at]!.until,
    created_at: scan.created_at.toISOString()
  }))
}
