import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { establishments, REPORT_DEFAULTS, storedFile, type PersonalDataReport } from '#src/bookings/index.ts'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import type { FileService } from '#src/services/files/file-service.ts'
import { establishmentRoutes } from './establishment-routes.ts'
import { letterRoutes } from './letter-routes.ts'
import { fileOf, findLetter, lockLetters } from './repository.ts'

/** The welcome letter in the personal-data report of a booking. */
function letterReport (files: Pick<FileService, 'find' | 'read'>): PersonalDataReport {
  return {
    async describe (db, booking) {
      if (!await findLetter(db, booking)) return []
      return [{
        ...REPORT_DEFAULTS,
        cosa: 'lettera_benvenuto',
        stato: 'finche_esiste_la_prenotazione',
        motivo: 'La lettera per l’ospite: resta finché non si elimina, o non si elimina la prenotazione'
      }]
    },

    async files (db, booking) {
      const letter = await findLetter(db, booking)
      const file = letter && await fileOf(files, db, letter)
      return file ? [storedFile(files, 'lettera-benvenuto.pdf', file)] : []
    }
  }
}

interface LettersOptions { config: Config, keys: Keys, clock: Clock }

/** Welcome letters, at most one per booking, and the establishments' data. A letter is deleted with its booking. */
const letters: FastifyPluginAsyncTypebox<LettersOptions> = async (app, { config, keys, clock }) => {
  const { pdf, files } = app

  app.addPersonalDataReport(letterReport(files))
  app.addBookingHook('beforeDelete', async (tx, ids) => {
    await pdf.remove(tx, (await lockLetters(tx, ids)).map((letter) => letter.pdf))
  })

  const parts = { config, clock, establishments: establishments(keys) }
  await app.register(letterRoutes, parts)
  await app.register(establishmentRoutes, parts)
}
export default letters
