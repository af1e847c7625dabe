import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { IMAGE_STATES } from '#schemas/privacy.ts'
import { REPORT_DEFAULTS, jsonFile, storedFile, type PersonalDataReport } from '#src/bookings/index.ts'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import type { Transaction } from '#src/database/connect.ts'
import type { FileService } from '#src/services/files/file-service.ts'
import { discardScans, picturesOf } from './scan-pictures.ts'
import { scanRepository, type ScanRepository } from './repository.ts'
import { scanRetention, type ScanRetention } from './scan-retention.ts'
import { scanRoutes } from './routes.ts'

/** The scans in the personal-data report of a booking. */
function scanReport (
  { files, repository, retention }: {
    files: FileService, repository: ScanRepository, retention: Pick<ScanRetention, 'statusesOf'>
  }
): PersonalDataReport {
  return {
    async describe (db, booking) {
      const scans = await repository.ofBooking(db, booking)
      const statuses = await retention.statusesOf(db, scans)
      return scans.map(({ id, guest_idx: ospite }, at) => {
        const { stato, until } = statuses[at]!
        return {
          ...REPORT_DEFAULTS,
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
      const pictures = await picturesOf(files, db, scans.map(({ id }) => id))
      return [
        ...scans.map((scan) => jsonFile(`scansioni/${scan.id}.json`, repository.open(scan))),
        ...[...pictures.values()].map((picture) => storedFile(files, picture.name, picture))
      ]
    }
  }
}

interface ScansOptions { config: Config, keys: Keys, clock: Clock }

/** Scans of documents that users save. A scan is deleted with its guest or booking, and when its retention ends. */
const scans: FastifyPluginAsyncTypebox<ScansOptions> = async (app, { config, keys, clock }) => {
  const { files, eraseResponses } = app
  const repository = scanRepository(keys)
  const retention = scanRetention(app, repository, { config, keys, clock })

  app.addPersonalDataReport(scanReport({ files, repository, retention }))
  app.addJob({
    name: 'scan-retention',
    description: 'Elimina le scansioni scadute dei documenti, anche quelle senza ospite',
    cron: '20 3 * * *',
    run: retention.purge
  })
  app.addBookingHook('beforeDelete', async (tx, ids) => discard(tx, await repository.idsOf(tx, ids)))
  app.addBookingHook('guestsRemoved', async (tx, booking, removed) => {
    await discard(tx, await repository.idsOf(tx, [booking], removed))
    // The stored response of the request that made the guest contains all of the guest's data, so it is erased as well.
    const said = `"prenotazione_id":(\\d+),"guest_idx":(?:${removed.join('|')}),`
    if (removed.length > 0) await eraseResponses(tx, { said, names: [booking], isReusable: true })
  })

  async function discard (tx: Transaction, ids: readonly number[]): Promise<void> {
    await discardScans({ files, repository, eraseResponses }, tx, ids)
  }

  await app.register(scanRoutes, { repository, retention, clock })
}
export default scans
