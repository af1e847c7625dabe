import type { OcrLanguage } from '#schemas/ocr.ts'
import type { Scene, TextReaderKind } from '../ocr/scene.ts'

export interface TextOptions {
  languages: readonly OcrLanguage[]
  /** Quarters of a turn, clockwise, that set the picture upright. */
  quarters: 0 | 1 | 2 | 3
  /** Aborted when nobody waits for the text any more. */
  signal: AbortSignal
}

/** What reads the text of pictures. */
export interface TextSource {
  kind: TextReaderKind
  /** Whether it finds out by itself how a picture is held. */
  turnsByItself: boolean
  /** @throws an error of the catalogue: 502 or 503 */
  read (scene: Scene, options: TextOptions): Promise<string>
}
