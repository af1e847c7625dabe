import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { DOWNLOAD_ERRORS, PDF_ERRORS } from '#schemas/errors/groups.ts'
import {
  Letter, LetterCreation, LetterFound, LetterList, LetterMade, LetterParams, LetterPreview, LetterQuery, LetterRemoved
} from '#schemas/letter.ts'
import { PdfBytes, PdfBytesPart } from '#schemas/pdf.ts'
import type { Establishments } from '#src/bookings/index.ts'
import type { Config } from '#src/config/config.ts'
import { sendList } from '#src/http/list-responses.ts'
import { ChiaveEseguita } from '#src/http/idempotency/plugin.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { Clock } from '#src/lib/time.ts'
import { warn } from '#src/pdf/index.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { LetteraNonTrovata } from './errors.ts'
import { generateLetter, previewLetter } from './generate.ts'
import {
  bookingOf, countLetters, fileOf, findLetter, findLetterById, letterPage, LETTERS, lockLetters, type StoredLetter
} from './repository.ts'

/** Runs the tasks of one key in the order of the calls, even after an earlier task has failed. */
function sequencer () {
  const last = new Map<number, Promise<unknown>>()
  return async <T>(key: number, work: () => Promise<T>): Promise<T> => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work)
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }
}

const route = routesUnder('Lettere')
const URL = '/api/lettere-benvenuto'

const PREVIEW = 'inline; filename="anteprima-lettera.pdf"'

interface LetterOptions { config: Config, clock: Clock, establishments: Establishments }

const listRoute = route(
  { access: 'auth' }, 'listLettere', 'Le lettere di benvenuto, dalla più recente: tutte, o a pagine', {
    querystring: LetterQuery, response: { 200: LetterList }
  }
)

const getRoute = route({ access: 'auth' }, 'getLettera', 'La lettera di benvenuto di una prenotazione, se c’è', {
  params: LetterParams, response: { 200: LetterFound }
})

const downloadRoute = route(
  { access: 'auth' }, 'downloadLettera', 'Il PDF della lettera di benvenuto di una prenotazione', {
    errorCodes: ['LETTERA_NON_TROVATA', ...DOWNLOAD_ERRORS],
    params: LetterParams,
    response: { 200: PdfBytes, 206: PdfBytesPart, 304: Type.Null() }
  }
)

const previewRoute = route(
  { access: 'auth', heavy: true }, 'previewLettera', 'La lettera di un ospite inventato, coi testi salvati', {
    errorCodes: [...PDF_ERRORS],
    description: 'Non si conserva. Gli avvisi stanno nell’intestazione X-PDF-Warnings, in JSON.',
    querystring: LetterPreview,
    response: { 200: PdfBytes }
  }
)

const createRoute = route(
  { access: 'auth', idempotent: true, heavy: true },
  'generaLettera', 'Crea la lettera di benvenuto di una prenotazione; ne ha al massimo una', {
    errorCodes: ['PRENOTAZIONE_NON_TROVATA', 'LETTERA_ESISTENTE', ...PDF_ERRORS],
    description:
      'Soggiorno e codice vengono dalla prenotazione, il resto da /api/v1/struttura. Gli avvisi (caratteri ' +
      'sostituiti) stanno nell’intestazione X-PDF-Warnings, in JSON.',
    body: LetterCreation,
    response: { 201: LetterMade }
  }
)

const deleteRoute = route({ access: 'auth' }, 'deleteLettera', 'Elimina la lettera di benvenuto di una prenotazione', {
  errorCodes: ['LETTERA_NON_TROVATA'], params: LetterParams, response: { 200: LetterRemoved }
})

/** Routes of the welcome letters of bookings. */
export const letterRoutes: FastifyPluginAsyncTypebox<LetterOptions> = async (app, options) => {
  const { config, clock, establishments } = options
  const { audit, db, pdf, files } = app
  // Concurrent requests for one booking in this process run one after the other, so that only the first makes a PDF.
  const inOrder = sequencer()
  app.addSchema(Letter)
  // Without this hook, a repeated request would return a deleted letter.
  app.addDiscardHook(LETTERS, (tx, names) =>
    app.eraseResponses(tx, { locations: names.map((name) => `${URL}/${bookingOf(name)}`), isReusable: true }))

  const present = ({ pdf: _, created_at, ...letter }: StoredLetter): Letter => ({
    ...letter,
    created_at: created_at.toISOString(),
    url: `${config.PUBLIC_URL}${URL}/${letter.prenotazione_id}/pdf`
  })

  app.get(URL, listRoute, async (request, reply) => await sendList(request, reply, {
    path: URL, page: (limit, cursor) => letterPage(db, limit, cursor), count: () => countLetters(db), present
  }))

  app.get(`${URL}/:prenotazioneId`, getRoute, async (request) => {
    const letter = await findLetter(db, request.params.prenotazioneId)
    return letter ? { exists: true, data: present(letter) } : { exists: false, data: null }
  })

  app.get(`${URL}/:prenotazioneId/pdf`, downloadRoute, async (request, reply) => {
    const letter = await findLetter(db, request.params.prenotazioneId)
    const file = letter && await fileOf(files, db, letter)
    if (!file) throw new LetteraNonTrovata()
    return await reply.sendObject(file, { download: `lettera-benvenuto-${letter.prenotazione_id}.pdf` })
  })

  app.get('/api/v1/struttura/anteprima', previewRoute, async (request, reply) => {
    const { lingua = 'it' } = request.query
    const made = await previewLetter(app, { clock, establishments }, reply, lingua)
    warn(reply, made)
    return reply.type('application/pdf').header('content-disposition', PREVIEW).send(made.bytes)
  })

  app.post(`${URL}/genera`, createRoute, async (request, reply) => {
    const { body } = request
    const answer = (letter: StoredLetter) => {
      reply.code(201).header('location', `${URL}/${body.prenotazione_id}`)
      return { success: true, data: present(letter), message: 'Lettera di benvenuto creata' }
    }
    if (request.startedWork !== null) return answer(await earlierLetter(request))
    const made = await inOrder(body.prenotazione_id, () => generateLetter(app, { clock, establishments }, reply, body))
    warn(reply, made.pdf)
    return answer(made.letter)
  })

  app.delete(`${URL}/:prenotazioneId`, deleteRoute, async (request) => {
    const { prenotazioneId: id } = request.params
    await db.transaction(async (tx) => {
      const [letter] = await lockLetters(tx, [id])
      if (!letter) throw new LetteraNonTrovata()
      await pdf.remove(tx, [letter.pdf])
      await audit.append(tx, { ...authorOf(request), action: 'lettera_eliminata', object: `prenotazione:${id}` })
    })
    files.removeDiscarded()
    return { success: true, message: 'Lettera di benvenuto eliminata' }
  })

  /** The letter of an earlier request with the same key. @throws ChiaveEseguita when it was deleted */
  async function earlierLetter (request: FastifyRequest): Promise<StoredLetter> {
    const letter = await findLetterById(db, Number(request.startedWork![0]))
    if (!letter) throw new ChiaveEseguita()
    return letter
  }
}
