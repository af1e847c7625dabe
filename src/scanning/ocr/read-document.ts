import type { FastifyInstance } from 'fastify'
import type { OcrResponse, OcrBody, OcrLanguage } from '#schemas/ocr.ts'
import type { Clock } from '#src/lib/time.ts'
import { readImage } from '#src/services/images/image-text.ts'
import { printedGuest } from '../printed/printed-guest.ts'
import type findZone from './find-zone.ts'
import { presentZones } from './present-zones.ts'
import type { Scene, ScenePayload, TextReaderKind } from './scene.ts'

const SCENE = new URL('scene.ts', import.meta.url)
const FIND_ZONE = new URL('find-zone.ts', import.meta.url)
const ZONE_DEADLINE_MS = 20_000

interface TextOptions {
  /** The caller. Callers are served in turn. */
  caller: string
  languages: readonly OcrLanguage[]
  /** The number of clockwise quarter turns that make the image upright. */
  quarters: 0 | 1 | 2 | 3
  /** Aborts when the client disconnects. */
  signal: AbortSignal
}

/** An OCR engine, local or external. */
export interface TextSource {
  kind: TextReaderKind
  /** True when the engine detects the orientation itself. */
  turnsByItself: boolean
  /** @throws an error with status 413, 502 or 503 */
  read (scene: Scene, options: TextOptions): Promise<string>
}

/** The caller, and a signal that is aborted when the client disconnects. */
export interface Reading { caller: string, signal: AbortSignal }

/**
 * Returns a function that reads documents. The MRZ reader finds the zone while an OCR engine reads the text. The
 * function throws CampiNonValidi, ContenutoTroppoGrande (413), ServizioOccupato (503), or an error of the OCR engine.
 */
export function documentReader (
  app: Pick<FastifyInstance, 'images' | 'zoneWorkers' | 'guestCodes'>,
  { clock, texts }: { clock: Clock, texts: TextSource }
) {
  async function decode (image: string, text: ScenePayload['text'], reading: Reading): Promise<Scene> {
    const bytes = readImage('image', image)
    return await app.images.make<ScenePayload, Scene>(SCENE, { bytes, text }, { campo: 'image', ...reading })
  }

  async function zoneOf ({ picture }: Scene, reading: Reading) {
    return await app.zoneWorkers.run<typeof findZone>(FIND_ZONE, { picture, today: clock.today() }, {
      ...reading,
      deadlineMs: ZONE_DEADLINE_MS,
      transfer: [picture.data.buffer as ArrayBuffer]
    })
  }

  async function withText (image: string, languages: NonNullable<OcrBody['lingue']>, reading: Reading) {
    const scene = await decode(image, texts.kind, reading)
    const failed = new AbortController()
    const options = { languages, caller: reading.caller, signal: AbortSignal.any([reading.signal, failed.signal]) }
    const zoneRead = zoneOf(scene, reading)
    try {
      const [{ zones, quarters }, first] = await Promise.all([zoneRead, texts.read(scene, { ...options, quarters: 0 })])
      const isUpright = texts.turnsByItself || quarters === 0
      const text = plain(isUpright ? first : await texts.read(scene, { ...options, quarters }))
      const found = presentZones(zones, text, clock.today())
      if (found.zone.length > 0) return { text, ...found }
      return { text, ...found, ...printedGuest(text, clock.today(), await app.guestCodes()) }
    } catch (err) {
      failed.abort()
      // Wait for the zone. A response now would abort its task and end the thread, and a new thread costs more time.
      await zoneRead.catch(() => {})
      throw err
    }
  }

  return async function readDocument (
    { image, lingue = ['IT'], solo_mrz: zoneAlone = false }: OcrBody, reading: Reading
  ): Promise<OcrResponse> {
    if (zoneAlone) {
      const { zones } = await zoneOf(await decode(image, null, reading), reading)
      return { text: '', ...presentZones(zones, '', clock.today()) }
    }
    return await withText(image, lingue, reading)
  }
}

/** Control characters except line feeds become blanks, because OCR text is untrusted. */
function plain (text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, ' ').toWellFormed()
}
