import { connect } from 'node:net'
import { RAW_CASES, type RawCase } from './raw-corpus.ts'

/** Timeout of an exchange. For an incomplete request the server waits until the client closes its side. */
const TIMEOUT_MS = 10_000

/**
 * Sends each case on a new connection.
 * @returns the number of cases, and the violations
 */
export async function runRawCorpus (port: number): Promise<{ cases: number, faults: string[] }> {
  const faults: string[] = []
  for (const each of RAW_CASES) {
    const text = await exchange(port, each.bytes)
    const fault = text === undefined ? 'the connection stays open' : faultOf(each, text)
    if (fault !== undefined) faults.push(`${each.name}: ${fault}`)
  }
  return { cases: RAW_CASES.length, faults }
}

function faultOf ({ responses }: RawCase, text: string): string | undefined {
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  const isRight = statuses.length === responses.length &&
    statuses.every((status, at) => responses[at]!.includes(status))
  if (!isRight) return `answered with ${statuses.join() || 'nothing'}`
  return /Error:|\bat \w+ \(|node_modules/.test(text) ? 'leaks internal details' : undefined
}

/** All received bytes. Undefined when the connection stays open. After sending, the client closes its side. */
function exchange (port: number, bytes: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1')
    const timer = setTimeout(() => {
      socket.destroy()
      resolve(undefined)
    }, TIMEOUT_MS)
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => { text += chunk })
    // A server that refuses the request may reset the connection.
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(text)
    })
    socket.end(bytes, 'latin1')
  })
}
