import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

const ASKED_MS = 20_000
/** Longer than any task of a PDF thread. */
const THREADS_MS = 3000
/** After a collection, V8 unmaps empty pages in another thread, with a delay. */
const UNMAPPED_MS = 300
const MEGABYTE = 1024 * 1024
/** Expression for the server: bytes of compiled code and its metadata. */
const COMPILED = `process.getBuiltinModule('node:v8').getHeapSpaceStatistics()
  .filter(({ space_name }) => /^(code|trusted)_/.test(space_name))
  .reduce((sum, { space_used_size }) => sum + space_used_size, 0)`

/** `process.memoryUsage()` in megabytes, after garbage collection in all threads. `rss` covers all threads. */
export interface Parts { heapTotal: number, external: number, arrayBuffers: number, rss: number }

export interface Held {
  /**
   * Live heap of the main thread in megabytes, without compiled code. V8 keeps compiling functions as they become hot.
   */
  heap: number
  /** Resident megabytes of the process after garbage collection in all threads. */
  held: number
  parts?: Parts
}

interface Usage { usedSize: number, backingStorageSize?: number }

/**
 * Measures a server's memory through Node's inspector, which SIGUSR1 opens at that port. A server does not exit while
 * an inspector client is connected. NaN when the server ended meanwhile.
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

/** Collects garbage in worker threads. A thread that does not respond in time has ended or is busy. */
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
  // Copied, because a reply removes a thread from the set.
  for (const sessionId of [...open]) await call(socket, 'NodeWorker.sendMessageToWorker', { sessionId, message })
  if (open.size > 0) await sleep(THREADS_MS, undefined, { signal: waiting.signal }).catch(() => {})
  await call(socket, 'NodeWorker.disable')
}

async function inspectorOf (pid: number, port: number): Promise<string> {
  const limit = performance.now() + ASKED_MS
  for (;;) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/json/list`)
      const [target] = await response.json() as { webSocketDebuggerUrl: string }[]
      return target!.webSocketDebuggerUrl
    } catch (err) {
      if (performance.now() > limit) throw err
      // Throws when the process has ended.
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

/** Waits for an event. Rejects when the server ends or the timeout passes. */
async function happens (
  socket: WebSocket, what: 'open' | 'message', isWanted: (text: string) => boolean = () => true
): Promise<string> {
  const over = new AbortController()
  const options = { signal: over.signal }
  try {
    return await new Promise((resolve, reject) => {
      const gone = () => reject(new Error('the inspector disconnected'))
      socket.addEventListener(what, (event) => {
        const text = 'data' in event ? String(event.data) : ''
        if (isWanted(text)) resolve(text)
      }, options)
      socket.addEventListener('close', gone, options)
      socket.addEventListener('error', gone, options)
      // If the connection was closed before the listeners were added, no event occurs.
      if (socket.readyState > WebSocket.OPEN) gone()
      sleep(ASKED_MS, undefined, options).then(gone, () => {})
    })
  } finally {
    over.abort()
  }
}
