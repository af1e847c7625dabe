import { create } from '#test/bookings/samples.ts'
import type { TestApp } from '#test/helper.ts'

export interface Upload {
  guest?: number
  side?: string
  image?: Buffer
  /** Replaces the default image. */
  base64Image?: string
  ext?: string
  headers?: Record<string, string>
}

/** Helpers for images of documents. */
export function uploading ({ app, call }: Pick<TestApp, 'app' | 'call'>) {
  return {
    newBooking: async (numero_ospiti = 2) => (await create(call, { numero_ospiti })).id,

    upload: (booking_id: number, { guest = 0, side = 'front', image, base64Image, ext = 'jpg', headers }: Upload) =>
      call('POST', '/api/documents/upload', {
        booking_id, guest_idx: guest, side, base64Image: base64Image ?? image!.toString('base64'), ext
      }, headers),

    show: (id: number, guest = 0, side = 'front', headers?: Record<string, string>) =>
      call('GET', `/api/documents/${id}/${guest}/${side}`, undefined, headers),

    /** The names of the stored images of a booking. */
    stored: async (id: number) =>
      (await app.files.findByPrefix(app.db, 'documents', `${id}/`)).map(({ name }) => name)
  }
}
