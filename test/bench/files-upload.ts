import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import sharp from 'sharp'
import reencode from '#src/services/images/reencode.ts'
import { interleaved, within, type BenchResult } from './harness.ts'
import { API_KEY, type Running } from './process.ts'

const SIZE = { width: 4000, height: 3000 }
/** This quality gives about 2 MB. */
const QUALITY = 88
const ROUNDS = 31

/** The quality of stored images. The peer uses the same. */
const STORED_QUALITY = 90

/**
 * Compares a 2 MB photo upload (base64, decoding, encoding, encryption, disk, database) with decoding and encoding
 * alone. The peers are sharp with its defaults, and with this server's settings, which avoid a second pass. Sharp takes
 * 44 of 68 ms, the file with two fsyncs 8, the database 6.
 */
export async function uploads ({ url }: Running): Promise<BenchResult[]> {
  const photo = await makePhoto()
  const booking_id = await makeBooking(url)
  // Prepared once, because the client's own work must not count.
  const body = Buffer.from(JSON.stringify({
    booking_id, guest_idx: 0, side: 'front', base64Image: photo.toString('base64'), ext: 'jpg'
  }))
  const upload = async () => { await post(url, '/api/documents/upload', body) }
  const name = `upload of a photo of ${(photo.length / 1e6).toFixed(1)} MB, against its encoding`
  const bySharp = async () => { await sharp(photo).autoOrient().jpeg({ quality: STORED_QUALITY }).toBuffer() }
  const asStored = async () => { await reencode({ bytes: photo }) }
  return [
    within(1.5, await interleaved(`${name} by sharp`, upload, bySharp, { rounds: ROUNDS })),
    within(1.7, await interleaved(`${name} with our settings`, upload, asStored, { rounds: ROUNDS }))
  ]
}

/** Soft shapes with noise, similar to a photo. */
async function makePhoto (): Promise<Buffer> {
  const shapes = sharp(randomBytes(100 * 75 * 3), { raw: { width: 100, height: 75, channels: 3 } })
  const grain = await sharp(randomBytes(1000 * 750 * 3), { raw: { width: 1000, height: 750, channels: 3 } })
    .resize(SIZE).ensureAlpha(0.1).png({ compressionLevel: 1 }).toBuffer()
  return await shapes.resize(SIZE).composite([{ input: grain }]).jpeg({ quality: QUALITY }).toBuffer()
}

async function makeBooking (url: string): Promise<number> {
  const { data } = await post<{ data: { id: number } }>(url, '/api/v1/prenotazioni', Buffer.from(JSON.stringify({
    nome_cognome: 'Anna Bianchi', lingua: 'IT', paese_id: 380, check_in: '2026-11-21', numero_notti: 3, numero_ospiti: 1
  })))
  return data.id
}

const agent = new Agent({ keepAlive: true })

/** Posts without `fetch`. Its overhead of 4 ms for this size would count as time of the server. */
async function post<T> (url: string, path: string, body: Buffer): Promise<T> {
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json', 'content-length': body.length }
  const sent = request(url + path, { agent, method: 'POST', headers }).end(body)
  const [response] = await once(sent, 'response') as [IncomingMessage]
  const said = await json(response)
  if (response.statusCode !== 200 && response.statusCode !== 201) throw new Error(JSON.stringify(said))
  return said as T
}
