import type { DocumentParams } from '#schemas/document.ts'

/*
 * The stored object's row is the only record of an image, and its name identifies the guest. Pictures of scans, whose
 * names begin with a word, are in the same bucket.
 */

export { DOCUMENTS } from '#schemas/storage.ts'

/** The name prefix of all images of a booking. */
export function ofBooking (booking: number): string {
  return `${booking}/`
}

/** The name prefix of all images of a guest. */
export function ofGuest (booking: number, guest: number): string {
  return `${ofBooking(booking)}${guest}/`
}

/** Whether an object is the image of a guest's document. */
export function isOfGuest (name: string): boolean {
  return /^\d+\/\d+\//.test(name)
}

/** Parses the name of an image. */
export function placeOf (name: string): DocumentParams {
  const [booking, guest, file] = name.split('/')
  const side = file!.slice(0, file!.indexOf('.')) as DocumentParams['side']
  return { booking_id: Number(booking), guest_idx: Number(guest), side }
}

/** The name of a side's image, up to the extension. */
export function ofSide ({ booking_id, guest_idx, side }: DocumentParams): string {
  return `${ofGuest(booking_id, guest_idx)}${side}.`
}
