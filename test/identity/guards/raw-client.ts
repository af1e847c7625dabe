import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

interface Heard { status: number, headers: Map<string, string> }

/** Sends raw request lines, one after the other on one connection, and reconnects when the connection closes. */
export function rawClient (port: number) {
  let socket: Socket | undefined

  return {
    async send (method: string, path: string, headers: Record<string, string> = {}): Promise<Heard> {
      const lines = Object.entries({
        host: 'localhost', ...(method === 'GET' || method === 'HEAD' ? {} : { 'content-length': '0' }), ...headers
      })
      const fields = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
      const bytes = `${method} ${path} HTTP/1.1\r\n${fields}\r\n`
      const before = socket
      try {
        return await exchange(bytes, method === 'HEAD')
      } catch (err) {
        // The idle connection may have been closed. A new one is not.
        if (before === undefined) throw err
        socket = undefined
        return await exchange(bytes, method === 'HEAD')
      }
    },
    close: () => socket?.destroy()
  }

  async function exchange (bytes: string, isHead: boolean): Promise<Heard> {
    if (socket === undefined || socket.destroyed) {
      socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
    }
    const own = socket
    own.write(bytes)
    const heard = await new Promise<Heard>((resolve, reject) => {
      let text = ''
      own.removeAllListeners('data').removeAllListeners('close')
      own.on('data', (chunk) => {
        text += chunk.toString('latin1')
        const heard = parse(text, isHead)
        if (heard) resolve(heard)
      })
      own.on('close', () => reject(new Error(`closed after ${text.length} bytes`)))
    })
    if (heard.headers.get('connection') === 'close') {
      own.destroy()
      socket = undefined
    }
    return heard
  }
}

/** Undefined while the response is incomplete. */
function parse (text: string, isHead: boolean): Heard | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])
  )
  const status = Number(first.split(' ')[1])
  const length = isHead || status === 204 || status === 304 ? 0 : Number(headers.get('content-length') ?? 0)
  return text.length >= end + 4 + length ? { status, headers } : undefined
}
