import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import sharp from 'sharp'
import process from 'node:process'
import { cpuWithin, interleaved, within, type BenchResult } from './harness.ts'
import { againstQuiet, p95 } from './percentile.ts'
import { API_KEY, type Running } from './process.ts'

const SIZE = { width: 4000, height: 3000 }
/** This quality gives about 2 MB. */
const QUALITY = 88
const ROUNDS = 31

/**
 * Compares a 2 MB photo upload (check, encryption, disk, database) with re-encoding it by sharp. A server that keeps no
 * uploaded bytes must do that. One body is the image, the other is JSON with the image in Base64.
 */
export async function uploads (server: Running): Promise<BenchResult[]> {
  const { url } = server
  const photo = await makePhoto()
  const booking_id = await makeBooking(url)
  const path = `/api/v1/prenotazioni/${booking_id}`
  const upload = async () => {
    await post(url, `/api/documents/upload?booking_id=${booking_id}&guest_idx=0&side=front`, photo, 'image/jpeg')
  }
  // Prepared once, because the client's own work must not count.
  const json = Buffer.from(JSON.stringify({
    booking_id, guest_idx: 0, side: 'front', base64Image: photo.toString('base64'), ext: 'jpg'
  }))
  const uploadJson = async () => { await post(url, '/api/documents/upload', json) }
  const name = `upload of a photo of ${(photo.length / 1e6).toFixed(1)} MB, against its re-encoding by sharp`
  const encode = async () => { await sharp(photo).autoOrient().jpeg().toBuffer() }
  const spent = { upload: [] as number[], json: [] as number[], encode: [] as number[] }
  const counted = (work: () => Promise<void>, amounts: number[], cpu: () => number) => async () => {
    const before = cpu()
    await work()
    amounts.push(cpu() - before)
  }
  return [
    within(1, await interleaved(
      name,
      counted(upload, spent.upload, server.cpu), counted(encode, spent.encode, ownCpu),
      { rounds: ROUNDS, spent: { upload: spent.upload, encode: spent.encode } }
    )),
    cpuWithin(0.6, `${name}: processor time`, spent.upload, spent.encode),
    within(1.4, await interleaved(
      'upload of a photo in Base64, against the bytes', counted(uploadJson, spent.json, server.cpu), upload,
      { rounds: ROUNDS, spent: { json: spent.json } }
    )),
    cpuWithin(1.4, 'upload of a photo in Base64, against the bytes: processor time', spent.json, spent.upload),
    // Two threads decode meanwhile, and leave the event loop a part of two cores.
    await againstQuiet('detail, 95th percentile while ten photos are uploaded, against a quiet server', server,
      () => p95(server, Promise.all(Array.from({ length: 10 }, upload)), path), { path, limit: 20 })
  ]
}

/** CPU time of this process in milliseconds. */
function ownCpu (): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
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
async function post<T> (url: string, path: string, body: Buffer, type = 'application/json'): Promise<T> {
  const headers = { 'x-api-key': API_KEY, 'content-type': type, 'content-length': body.length }
  const sent = request(url + path, { agent, method: 'POST', headers }).end(body)
  const [response] = await once(sent, 'response') as [IncomingMessage]
  const said = await json(response)
  if (response.statusCode !== 200 && response.statusCode !== 201) throw new Error(JSON.stringify(said))
  return said as T
}
