import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '#src/config/config.ts'
import { addressMatcher, canonicalAddress, network } from '#src/lib/addresses.ts'

/** Of the descriptors of the process. For each client one is left, for the files and connections that it asks for. */
const SHARE_OF_CLIENTS = 1 / 2
/** Of the connections of all clients. */
const SHARE_OF_ADDRESS = 1 / 4
/** Requests of one connection that wait for their answers. Browsers and HTTP clients send the next one after them. */
const MOST_UNANSWERED = 8
/** Who waits for the end of a response: several plugins, and most of all Node's streams. Node warns beyond ten. */
const MOST_LISTENERS = 20

export interface ConnectionsOptions {
  config: Config
  /** How many files and connections the process may have open. Without, connections are not bounded. */
  descriptors?: number | undefined
}

/**
 * Where requests come from: each caller has one spelling of its address, and so many connections that descriptors are
 * left for the work. A process without any cannot open its files nor its database, and ends. What goes beyond is closed
 * at once. A trusted proxy has the connections of many callers, so that only all together are bounded.
 *
 * So are the requests of a connection: Node hands all those over that came in one piece, and keeps every answer until
 * those before it are read.
 */
export default fp<ConnectionsOptions>(async function connections (app, { config, descriptors = Infinity }) {
  // Before Fastify, whose router refuses some requests without a hook.
  app.server.prependListener('request', boundUnanswered())
  // Node would answer by itself, uncounted. What is unknown in `Expect` may be ignored (RFC 9110, 10.1.1).
  app.server.on('checkExpectation', (...request) => app.server.emit('request', ...request))

  app.addHook('onRequest', function settle (request, reply, done) {
    // Node still hands over a request of a connection that was cut, and one whose client has gone: it has no address.
    const address: string | undefined = request.ip
    if (request.raw.socket.destroyed || address === undefined) return reply.hijack()
    settleAddress(request)
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

/** Cuts a connection that sends more requests than it reads answers. */
function boundUnanswered () {
  const unanswered = new WeakMap<Socket, number>()

  // One function for all responses: this runs for every request.
  function release (this: ServerResponse): void {
    const { socket } = this.req
    unanswered.set(socket, unanswered.get(socket)! - 1)
  }

  return ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const before = unanswered.get(socket) ?? 0
    unanswered.set(socket, before + 1)
    response.setMaxListeners(MOST_LISTENERS).on('close', release)
    if (before >= MOST_UNANSWERED) socket.destroy()
  }
}

/**
 * Gives `request.ip` its one spelling. A trusted proxy may write an address in many, and what is none counts as the
 * proxy's.
 */
export function settleAddress (request: FastifyRequest): void {
  const { ip = '', socket }: { ip?: string, socket: FastifyRequest['socket'] } = request
  const address = canonicalAddress(ip) ?? canonicalAddress(socket.remoteAddress ?? '') ?? ip
  if (address !== ip) Object.defineProperty(request, 'ip', { value: address })
}
