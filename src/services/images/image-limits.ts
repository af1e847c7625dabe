/* Limits of an image, checked in its header before decoding. */

/** Covers the default photos of every phone. Larger images are made to exhaust memory. */
export const PIXELS_MAX = 24_000_000
export const SIDE_MAX = 8000
/** Timeout of one image in seconds. The largest WebP takes four on an idle machine, a photo half a second. */
export const SECONDS_MAX = 20
