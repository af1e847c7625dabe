/* Limits of an image. They are checked in its header before decoding. */

/** Covers the largest photos of phones. A larger image could be meant to exhaust memory. */
export const PIXELS_MAX = 50_000_000
export const SIDE_MAX = 12_000
/** Timeout of one image in seconds. The largest WebP takes eight on an idle machine, a photo half a second. */
export const SECONDS_MAX = 20

/** The limits in words, for the descriptions. */
export const LIMIT_WORDS = `${PIXELS_MAX / 1e6} megapixel e ${SIDE_MAX} pixel per lato`
