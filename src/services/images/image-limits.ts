/* What an image may be. The header tells it, before anything is decoded. */

/** Of every photo that a phone takes by default; larger ones are made to cost memory. */
export const PIXELS_MAX = 24_000_000
export const SIDE_MAX = 8000
/** Seconds of work on one image. The largest WebP needs four on a quiet machine, a photo half a second. */
export const SECONDS_MAX = 20
