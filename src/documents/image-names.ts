import type { DocumentParams } from '#schemas/document.ts'
import type { Bucket } from '#schemas/storage.ts'

/*
 * The row of the stored object is the only record of an image: its name says what it is an image of. Pictures of scans,
 * whose names begin with a word, are in the same bucket.
 */

export const DOCUMENTS: Bucket = 'documents'

/** How the names of all images of a booking begin. */
export function ofBooking (booking: number): string {
  return `${booking}/`
}

/** How the names of all images of a guest begin. */
export function ofGuest (booking: number, guest: number): string {
  return `${ofBooking(booking)}${guest}/`
}

/** Whether an object is the image of a guest's document. */
export function isOfGuest (name: string): boolean {
  return /^\d+\/\d+\//.test(name)
}

/** What an image is of. */
export function placeOf (name: string): DocumentParams {
  const [booking, guest, file] = name.split('/')
  const side = file!.slice(0, file!.indexOf('.')) as DocumentParams['side']
  return { booking_id: Number(booking), guest_idx: Number(guest), side }
}

/** How the name of the image of a side begins; its extension follows. */
export function ofSide ({ booking_id, guest_idx, side }: DocumentParams): string {
  return `${ofGuest(booking_id, guest_idx)}${side}.`
}
