import { get, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Event } from '#schemas/event.ts'
import type { Client, Surroundings } from './client.ts'

export interface StreamOptions extends Pick<Surroundings, 'random' | 'admin'> {
  address: () => string | undefined
  /** Counts the response to a stream request that began at that time. */
  count: (status: number | undefined, since: number) => void
  now: () => number
}

const LONGEST_MS = 30_000

/** Opens a stream and disconnects after a while. */
export function listeners (options: StreamOptions): Client {
  const act = async () => {
    const stream = await open(options)
    if (!stream) return
    stream.resume()
    await sleep(options.random.integer(LONGEST_MS))
    stream.destroy()
  }
  return { name: 'listeners', restMs: 3000, act }
}

/** Follows all events. After a disconnect, it resumes with `Last-Event-ID`. */
export function follower (options: StreamOptions): Client & { heard: string[], leave (): void } {
  const heard: string[] = []
  let last: string | undefined
  let stream: IncomingMessage | undefined
  const act = async () => {
    stream = await open(options, last === undefined ? {} : { 'last-event-id': last })
    if (!stream) return
    const ended = new Promise((resolve) => stream!.once('close', resolve))
    // Only complete frames count, because the server sends an incomplete one again.
    let frame: { id?: string, data?: string } = {}
    createInterface(stream).on('line', (line) => {
      const [, field, value] = /^(id|data): (.*)$/.exec(line) ?? []
      if (field !== undefined) frame = { ...frame, [field]: value }
      if (line !== '') return
      if (frame.id !== undefined) last = frame.id
      if (frame.data !== undefined) heard.push((JSON.parse(frame.data) as Event).id)
      frame = {}
    }).on('error', () => {})
    await ended
  }
  return { name: 'follower', restMs: 300, act, heard, leave: () => stream?.destroy() }
}

async function open (
  { address, admin, count, now }: StreamOptions, headers: Record<string, string> = {}
): Promise<IncomingMessage | undefined> {
  const base = address()
  if (base === undefined) return undefined
  const since = now()
  const stream = await new Promise<IncomingMessage | undefined>((resolve) => {
    get(`${base}/api/v1/eventi`, { headers: { accept: 'text/event-stream', ...admin, ...headers }, agent: false },
      resolve).on('error', () => resolve(undefined))
  })
  count(stream?.statusCode, since)
  if (stream?.statusCode !== 200) return undefined
  return stream.on('error', () => {})
}
