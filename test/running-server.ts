import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import manifest from '../package.json' with { type: 'json' }
import { API_KEY, NEVER_OVERLOADED, NO_DISK_RESERVE } from './helper.ts'
import { COMPILE_CACHE, LOAD_FAST } from './setup/processes.ts'

const SERVER = new URL('../src/server.ts', import.meta.url)
/** The Node options of `npm start`. */
const FLAGS = manifest.scripts.start.match(/--\S+/g) ?? []
/** Environment variables of `npm start`, including one for the C library's memory. */
const ENVIRON = Object.fromEntries(Array.from(
  manifest.scripts.start.matchAll(/\b([A-Z_]+)=(\S+)/g), ([, name, value]) => [name!, value!]))

/** A server in a separate process. */
export interface ServerProcess {
  address: string
  pid: number
  /** All log lines so far, parsed. */
  lines: Record<string, unknown>[]
  /** Resolves when the process ends, with the signal that ended it. */
  ended: Promise<NodeJS.Signals | null>
  send (method: 'POST' | 'PUT', path: string, body: object, headers?: Record<string, string>): Promise<Response>
  post (path: string, body: object, headers?: Record<string, string>): Promise<Response>
  /** Sends SIGKILL, which a process cannot handle, as in a power failure. */
  kill (): Promise<void>
  /** Sends SIGTERM, as an operator would. */
  end (): Promise<void>
}

/**
 * Starts a server and waits until it is ready.
 * @param env the whole environment of the server
 * @param entry the script to run instead of the server. Then stderr is not shown
 * @param openFilesMax maximum number of open files and sockets
 */
export async function startServer (
  env: Record<string, string>, entry: URL = SERVER, openFilesMax?: number
): Promise<ServerProcess> {
  const flags = entry === SERVER ? FLAGS : [...FLAGS, LOAD_FAST]
  const command = [process.execPath, ...flags, fileURLToPath(entry)]
  const limited = openFilesMax === undefined
    ? command
    : ['sh', '-c', `ulimit -n ${openFilesMax} && exec "$0" "$@"`, ...command]
  const child = spawn(limited[0]!, limited.slice(1), {
    env: {
      ...ENVIRON, API_KEY, PORT: '0', NODE_COMPILE_CACHE: COMPILE_CACHE, ...NEVER_OVERLOADED, ...NO_DISK_RESERVE, ...env
    },
    stdio: ['ignore', 'pipe', entry === SERVER ? 'inherit' : 'ignore']
  })
  // Wait for all output of the process.
  const ended = once(child, 'close').then(([, signal]) => signal as NodeJS.Signals | null)
  const signal = async (name: NodeJS.Signals) => {
    child.kill(name)
    await ended
  }
  const lines: Record<string, unknown>[] = []
  const address = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on('line', (text) => {
      const line = JSON.parse(text) as Record<string, unknown>
      lines.push(line)
      if (line.msg === 'ready' && typeof line.address === 'string') resolve(line.address)
    })
    ended.then(() => reject(new Error(`the server ended before it was ready: ${String(lines.at(-1)?.msg)}`)), reject)
  })
  const send: ServerProcess['send'] = (method, path, body, headers = {}) => fetch(address + path, {
    method,
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body)
  })
  return {
    address,
    pid: child.pid!,
    lines,
    ended,
    send,
    post: (path, body, headers) => send('POST', path, body, headers),
    kill: () => signal('SIGKILL'),
    end: () => signal('SIGTERM')
  }
}
