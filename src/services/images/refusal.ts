import { CampiNonValidi } from '#src/lib/errors.ts'
import { PIXELS_MAX, SIDE_MAX } from './limits.ts'
import type { ImageFault } from './open.ts'

const FAULTS: Readonly<Record<ImageFault, string>> = {
  format: 'non è un’immagine JPEG, PNG o WebP',
  damaged: 'è un’immagine danneggiata o incompleta',
  large: `è un’immagine troppo grande: al massimo ${PIXELS_MAX / 1e6} megapixel e ${SIDE_MAX} pixel per lato`,
  frames: 'è un’animazione: serve una sola immagine',
  complex: 'è un’immagine troppo complessa'
}

/** The 400 for an image that is not taken; `campo` is the field that it came in. */
export function imageRefusal (campo: string, fault: ImageFault): CampiNonValidi {
  return new CampiNonValidi({ campo, messaggio: FAULTS[fault] })
}
