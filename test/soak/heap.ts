import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

const ASKED_MS = 20_000
/** A thread that draws takes less. */
const THREADS_MS = 3000
/** V8 unmaps the pages that a collection has emptied a moment later, in another thread. */
const UNMAPPED_MS = 300
const MEGABYTE = 1024 * 1024
/** Bytes of compiled code and of what V8 notes about it, an expression for the server. */
const COMPILED = `process.getBuiltinModule('node:v8').getHeapSpaceStatistics()
  .filter(({ space_name }) => /^(code|trusted)_/.test(space_name))
  .reduce((sum, { space_used_size }) => sum + space_used_size, 0)`

/**
 * What the process says of its memory, in megabytes, when the garbage of all its threads is collected: which part of it
 * grows. `rss` is of all threads.
 */
export interface Parts { heapTotal: number, external: number, arrayBuffers: number, rss: number }

export interface Held {
  /**
   * Megabytes that the main thread holds after a collection of its garbage, without compiled code: V8 goes on
   * compiling for as long as there are functions that it has not yet seen called often.
   */
  heap: number
  /** Resident megabytes of all threads, after a collection of their garbage. */
  held: number
  parts?: Parts
}

interface Usage { usedSize: number, backingStorageSize?: number }

/**
 * What a server holds in memory. It is asked through Node's inspector, which listens at that port from the first time
 * on; a server does not end while somebody is connected to it. NaN where the server ended meanwhile.
 */
export async function liveHeap (pid: number, port: number): Promise<Held> {
  let socket: WebSocket | undefined
  try {
    process.kill(pid, 'SIGUSR1')
    socket = new WebSocket(await inspectorOf(pid, port))
    await happens(socket, 'open')
    await collectInThreads(socket)
    await call(socket, COLLECT)
    await sleep(UNMAPPED_MS)
    const { usedSize, backingStorageSize = 0 } = await call<Usage>(socket, 'Runtime.getHeapUsage')
    const { result } = await call<{ result: { value: string } }>(socket, 'Runtime.evaluate', {
      expression: `JSON.stringify([process.memoryUsage(), ${COMPILED}])`
    })
    const [{ heapTotal, external, arrayBuffers, rss }, compiled] = JSON.parse(result.value) as [Parts, number]
    const heap = (usedSize + backingStorageSize - compiled) / MEGABYTE
    const parts = {
      heapTotal: heapTotal / MEGABYTE,
      external: external / MEGABYTE,
      arrayBuffers: arrayBuffers / MEGABYTE,
      rss: rss / MEGABYTE
    }
    return { heap, held: parts.rss, parts }
  } catch {
    return { heap: NaN, held: NaN }
  } finally {
    socket?.close()
  }
}

const COLLECT = 'HeapProfiler.collectGarbage'

interface Notice { method?: string, params: { sessionId: string } }

/** Collects the garbage of the threads beside the main one. One that does not answer in time has ended, or works. */
async function collectInThreads (socket: WebSocket): Promise<void> {
  const open = new Set<string>()
  const waiting = new AbortController()
  socket.addEventListener('message', ({ data }) => {
    const { method, params } = JSON.parse(String(data)) as Notice
    if (method === 'NodeWorker.attachedToWorker') open.add(params.sessionId)
    if (method === 'NodeWorker.receivedMessageFromWorker' && open.delete(params.sessionId) && open.size === 0) {
      waiting.abort()
    }
  })
  await call(socket, 'NodeWorker.enable', { waitForDebuggerOnStart: false })
  const message = JSON.stringify({ id: 1, method: COLLECT })
  // Those of now: an answer takes a thread out.
  for (const sessionId of [...open]) await call(socket, 'NodeWorker.sendMessageToWorker', { sessionId, message })
  if (open.size > 0) await sleep(THREADS_MS, undefined, { signal: waiting.signal }).catch(() => {})
  await call(socket, 'NodeWorker.disable')
}

async function inspectorOf (pid: number, port: number): Promise<string> {
  const limit = performance.now() + ASKED_MS
  for (;;) {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/json/list`)
      const [target] = await answer.json() as { webSocketDebuggerUrl: string }[]
      return target!.webSocketDebuggerUrl
    } catch (err) {
      if (performance.now() > limit) throw err
      // One that has ended throws.
      process.kill(pid, 0)
      await sleep(50)
    }
  }
}

let calls = 0

async function call<T> (socket: WebSocket, method: string, params: object = {}): Promise<T> {
  const id = ++calls
  const answered = happens(socket, 'message', (text) => (JSON.parse(text) as { id?: number }).id === id)
  socket.send(JSON.stringify({ id, method, params }))
  return (JSON.parse(await answered) as { result: T }).result
}

/** Rejects when the server ends first, or takes too long. */
async function happens (
  socket: WebSocket, what: 'open' | 'message', isWanted: (text: string) => boolean = () => true
): Promise<string> {
  const over = new AbortController()
  const options = { signal: over.signal }
  try {
    return await new Promise((resolve, reject) => {
      const gone = () => reject(new Error('the inspector has gone'))
      socket.addEventListener(what, (event) => {
        const text = 'data' in event ? String(event.data) : ''
        if (isWanted(text)) resolve(text)
      }, options)
      socket.addEventListener('close', gone, options)
      socket.addEventListener('error', gone, options)
      // What happened before is not heard of any more.
      if (socket.readyState > WebSocket.OPEN) gone()
      sleep(ASKED_MS, undefined, options).then(gone, () => {})
    })
  } finally {
    over.abort()
  }
}
