import type { DocumentParams } from '#schemas/document.ts'

/*
 * Names of document images, such as `17/0/front.jpg`. Only this name links an image to a booking, a guest and a side.
 * The same bucket contains pictures of scans, whose names begin with a word.
 */

export { DOCUMENTS } from '#schemas/storage.ts'

/** The name prefix of all images of a booking. */
export function bookingPrefix (booking: number): string {
  return `${booking}/`
}

/** The name prefix of all images of a guest. */
export function guestPrefix (booking: number, guest: number): string {
  return `${bookingPrefix(booking)}${guest}/`
}

/** Whether this is the name of a document image, and not of a picture of a scan. */
export function isDocumentImage (name: string): boolean {
  return /^\d+\/\d+\//.test(name)
}

/** The booking, guest and side that the name of an image contains. */
export function parseImageName (name: string): DocumentParams {
  const [booking, guest, file] = name.split('/')
  const side = file!.slice(0, file!.indexOf('.')) as DocumentParams['side']
  return { booking_id: Number(booking), guest_idx: Number(guest), side }
}

/** The name of the image of one side, up to the extension. */
export function sidePrefix ({ booking_id, guest_idx, side }: DocumentParams): string {
  return `${guestPrefix(booking_id, guest_idx)}${side}.`
}
