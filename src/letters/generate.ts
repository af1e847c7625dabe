import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LetterCreation } from '#schemas/letter.ts'
import {
  establishmentsOf, lockBooking, PrenotazioneNonTrovata, welcomedStay, type Establishments
} from '#src/bookings/index.ts'
import { addDays, type Clock } from '#src/lib/time.ts'
import { LETTER_TEMPLATE, type Pdf, type PdfJob } from '#src/pdf/index.ts'
import { disconnectSignal } from '#src/http/client-disconnects.ts'
import { LetteraEsistente } from './errors.ts'
import { readLogo } from './logo.ts'
import { findLetter, insertLetter, LETTERS, nameOf, type StoredLetter } from './repository.ts'

/** Maximum bytes of a PDF that the engine produces. */
const BYTES_MAX = 64 * 1024 * 1024

type App = Pick<FastifyInstance, 'db' | 'pdf' | 'files'>
interface Parts { clock: Clock, establishments: Establishments }
interface MadeLetter { letter: StoredLetter, pdf: Pdf }

/**
 * Creates and stores the letter of a booking. If several requests run concurrently, even in other processes, only one
 * succeeds.
 * @throws PrenotazioneNonTrovata (404), LetteraEsistente (409), errors of `pdf.make` and the storage
 */
export async function generateLetter (
  app: App, parts: Parts, reply: FastifyReply, wanted: LetterCreation
): Promise<MadeLetter> {
  const { job, warnings } = await jobOf(app, parts, wanted)
  const { request } = reply
  const pdf = await app.pdf.make(job, { caller: request.principal!.id, signal: disconnectSignal(reply) })
  const letter = await keepLetter(app, request, wanted, pdf.bytes)
  return { letter, pdf: { ...pdf, warnings: [...warnings, ...pdf.warnings] } }
}

/**
 * Makes the letter of an invented guest with the stored texts and logo. It is not stored.
 * @throws errors of `pdf.make` and the storage
 */
export async function previewLetter (app: App, parts: Parts, reply: FastifyReply, lingua: string): Promise<Pdf> {
  const today = parts.clock.today()
  const { job, warnings } = await letterWork(app, parts, {
    nome_ospite: 'Anna Bianchi', lingua, soggiorno: { check_in: today, check_out: addDays(today, 3) }, ospiti: 2
  })
  const pdf = await app.pdf.make(job, { caller: reply.request.principal!.id, signal: disconnectSignal(reply) })
  return { ...pdf, warnings: [...warnings, ...pdf.warnings] }
}

async function jobOf (app: App, parts: Parts, wanted: LetterCreation): Promise<LetterWork> {
  const { prenotazione_id: booking, nome_ospite, lingua, template_data } = wanted
  const { check_in, check_out, idf_gen: codice, numero_ospiti: ospiti } = await welcomedStay(app.db, booking)
  if (await findLetter(app.db, booking)) throw new LetteraEsistente()
  const soggiorno = { check_in, check_out }
  const establishment = (await establishmentsOf(app.db, [booking])).get(booking)
  return await letterWork(app, parts, { nome_ospite, lingua, soggiorno, ospiti, codice, template_data }, establishment)
}

type LetterData = Omit<Extract<PdfJob, { kind: 'letter' }>['request'], 'struttura' | 'data'>
interface LetterWork { job: PdfJob, warnings: Pdf['warnings'] }

/**
 * Makes the PDF job of a letter, with the texts and the logo of the establishment.
 * @param establishment its id, by default the first one
 */
async function letterWork (
  { db, files }: App, { clock, establishments }: Parts, letter: LetterData, establishment?: number
): Promise<LetterWork> {
  const struttura = await establishments.ofLetters(db, establishment)
  const { assets, warnings } = await readLogo(files, db)
  const data = clock.today()
  const request = { ...letter, struttura, data }
  return { job: { kind: 'letter', request, assets, date: Date.parse(`${data}T00:00:00Z`) }, warnings }
}

/** Writes the file, then stores its row, the letter and the idempotency record in one transaction. */
async function keepLetter (
  { db, pdf, files }: App, request: FastifyRequest, wanted: LetterCreation, bytes: Buffer
): Promise<StoredLetter> {
  const { prenotazione_id, nome_ospite, lingua } = wanted
  const { id: owner, userId: utente = null } = request.principal!
  const id = randomUUID()
  const name = nameOf({ prenotazione_id, pdf: id })
  const file = await files.write(bytes, { bucket: LETTERS, name, contentType: 'application/pdf', owner }, BYTES_MAX)
  return await files.settle(file, () => db.transaction(async (tx) => {
    // The booking may have been deleted while the PDF was being made.
    if (!await lockBooking(tx, prenotazione_id)) throw new PrenotazioneNonTrovata()
    const object = await files.keep(tx, file, { replace: false })
    await pdf.record(tx, {
      id,
      tipo: 'lettera_benvenuto',
      utente,
      template_id: LETTER_TEMPLATE,
      nome: `lettera-benvenuto-${prenotazione_id}.pdf`,
      object,
      prenotazione_id
    })
    const letter = await insertLetter(tx, { prenotazione_id, nome_ospite, lingua, pdf: id })
    await request.recordInProgress(tx, String(letter.id))
    return letter
  }))
}
