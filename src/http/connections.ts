import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '#src/config/config.ts'
import { addressMatcher, canonicalAddress, network } from '#src/lib/addresses.ts'

/** Share of the file descriptors for clients. Each client may need a second one, for a file or the database. */
const SHARE_OF_CLIENTS = 1 / 2
/** Maximum share of the client connections for one IP address. */
const SHARE_OF_ADDRESS = 1 / 4
/** Maximum pipelined requests per connection. Browsers and HTTP clients do not pipeline. */
const MAX_UNANSWERED = 8
/** Several plugins and streams of Node listen for the end of a response. Node would warn above its default of ten. */
const MAX_LISTENERS = 20

interface ConnectionsOptions {
  config: Config
  /** Limit of open file descriptors of the process. Without it connections are not limited. */
  descriptors?: number | undefined
}

/**
 * Normalizes the client IP, and limits connections, so that file descriptors remain for files and the database. A
 * process without free descriptors exits. Connections beyond the limits are closed at once. A trusted proxy is exempt
 * from the limit per client IP, because it forwards requests of many clients.
 *
 * Pipelined requests per connection are limited too. Node dispatches all requests of one packet together, and buffers
 * each response until the earlier ones are read.
 */
export default fp<ConnectionsOptions>(async function connections (app, { config, descriptors = Infinity }) {
  // Added before Fastify's listener, because Fastify's router rejects some requests before hooks run.
  app.server.prependListener('request', limitUnanswered())
  // Without this listener Node would respond, and the request would not be counted. The server may ignore unknown
  // values of `Expect` (RFC 9110, 10.1.1).
  app.server.on('checkExpectation', (...request) => app.server.emit('request', ...request))

  app.addHook('onRequest', function normalize (request, reply, done) {
    // Node still emits requests from connections that are destroyed or disconnected. Such requests have no client IP.
    const address: string | undefined = request.ip
    if (request.raw.socket.destroyed || address === undefined) return reply.hijack()
    normalizeClientIp(request)
    done()
  })

  if (descriptors === Infinity) return
  const isProxy = addressMatcher(config.TRUST_PROXY)
  const open = new Map<string, number>()
  const max = Math.floor(descriptors * SHARE_OF_CLIENTS)
  const maxOfAddress = Math.floor(max * SHARE_OF_ADDRESS)
  app.server.maxConnections = max

  app.server.on('connection', (socket: Socket) => {
    const peer = canonicalAddress(socket.remoteAddress ?? '') ?? ''
    if (isProxy(peer)) return
    const address = network(peer)
    const others = open.get(address) ?? 0
    if (others >= maxOfAddress) return socket.destroy()
    open.set(address, others + 1)
    socket.once('close', () => {
      const left = open.get(address)! - 1
      if (left > 0) open.set(address, left)
      else open.delete(address)
    })
  })
}, { name: 'connections' })

/** Returns a listener that destroys a connection with too many unanswered requests. */
function limitUnanswered () {
  const unanswered = new WeakMap<Socket, number>()

  // One function for all responses, because a function per request would cost time.
  function release (this: ServerResponse): void {
    const { socket } = this.req
    unanswered.set(socket, unanswered.get(socket)! - 1)
  }

  return ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const before = unanswered.get(socket) ?? 0
    unanswered.set(socket, before + 1)
    response.setMaxListeners(MAX_LISTENERS).on('close', release)
    if (before >= MAX_UNANSWERED) socket.destroy()
  }
}

/**
 * Normalizes `request.ip`. A trusted proxy may write the same address in several ways. An invalid address is replaced
 * by the address of the proxy.
 */
export function normalizeClientIp (request: FastifyRequest): void {
  const { ip = '', socket }: { ip?: string, socket: FastifyRequest['socket'] } = request
  const address = canonicalAddress(ip) ?? canonicalAddress(socket.remoteAddress ?? '') ?? ip
  if (address !== ip) Object.defineProperty(request, 'ip', { value: address })
}
