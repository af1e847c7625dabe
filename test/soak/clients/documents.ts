import { jpeg } from '#test/services/images/pictures.ts'
import type { Client, Surroundings } from './client.ts'
import { stays } from './stays.ts'

const WIDTH = 800
const HEIGHT = 600

/** Uploads, reads and replaces a document image, then deletes it with its booking. */
export async function documents (surroundings: Surroundings): Promise<Client> {
  const { ask, surprise } = surroundings
  const { create, remove } = stays(surroundings)
  const base64Image = (await jpeg(WIDTH, HEIGHT)).toString('base64')

  async function act (): Promise<void> {
    const stay = await create()
    if (!stay) return
    const body = { booking_id: stay.id, guest_idx: 0, side: 'front', base64Image, ext: 'jpg' }
    await ask('POST', '/api/documents/upload', { body })
    const stored = await ask('POST', '/api/documents/upload', { body })
    const path = `/api/documents/${stay.id}/0/front`
    const read = stored && await ask('GET', path)
    if (read && read.bytes.readUInt16BE() !== 0xFFD8) surprise('a stored image is no image')
    if (await remove(stay)) await ask('GET', path, { expected: [404] })
  }
  return { name: 'documents', restMs: 2000, act }
}
