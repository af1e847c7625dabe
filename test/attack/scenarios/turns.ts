import sharp from 'sharp'
import { randomBytes } from 'node:crypto'
import { API_KEY } from '#test/helper.ts'
import { pageWith } from '#test/pdf/read-pdf.ts'
import { page } from '#test/scanning/ocr/pages.ts'
import { bounded, timed, type Scenario } from '../scenario.ts'
import { startTarget, type Target } from '../target.ts'

const AT_ONCE = 20
const ROUNDS = 2
/** Maximum milliseconds that another caller waits: for one task of the attacker, and for the caller's own. */
const WAIT = 30_000

type Call = readonly [path: string, body: object]

/** One caller sends 48 KB of emoji as a template, and noisy pictures. Another one makes PDFs and reads pictures. */
export const turns: Scenario = {
  name: `one caller with ${AT_ONCE} long tasks at a time`,
  async run () {
    const target = await startTarget({ RATE_LIMIT_HEAVY_MAX: '1000000' })
    const over = new AbortController()
    try {
      const emoji = pageWith(`<p>${'\u{1F642} '.repeat(9600)}</p>`)
      const noise = await sharp(randomBytes(1600 * 1200 * 3), { raw: { width: 1600, height: 1200, channels: 3 } })
        .jpeg().toBuffer()
      const text = (await page(['Comune di Bergamo'])).toString('base64')
      const hostile: Call[] = [
        ['/api/generate-pdf', { template: emoji, data: {} }], ['/api/ocr', { image: noise.toString('base64') }]
      ]
      const usual: Call[] = [
        ['/api/generate-pdf', { template: pageWith('<p>Buongiorno</p>'), data: {} }], ['/api/ocr', { image: text }]
      ]
      for (const call of usual) await send(target, target.serviceKey, call)
      const attack = Promise.all(Array.from({ length: AT_ONCE }, async (_, n) => {
        while (!over.signal.aborted) await send(target, API_KEY, hostile[n % 2]!, over.signal).catch(() => 0)
      }))
      const [times, statuses] = [[], []] as [number[], number[]]
      for (let round = 0; round < ROUNDS; round++) {
        for (const call of usual) {
          times.push(await timed(async () => { statuses.push(await send(target, target.serviceKey, call)) }))
        }
      }
      over.abort()
      await attack
      const slowest = Math.max(...times)
      return {
        figures: { requests: statuses.length, 'slowest, ms': Math.round(slowest) },
        faults: [
          ...bounded('slowest, ms', slowest, WAIT),
          ...(statuses.every((status) => status < 300) ? [] : [`answers ${statuses.join()}`])
        ]
      }
    } finally {
      over.abort()
      await target.stop()
    }
  }
}

async function send (
  { address }: Target, key: string, [path, body]: Call, signal: AbortSignal | null = null
): Promise<number> {
  const credentials: Record<string, string> =
    key === API_KEY ? { 'x-api-key': key } : { authorization: `Bearer ${key}` }
  const response = await fetch(address + path, {
    method: 'POST', headers: { ...credentials, 'content-type': 'application/json' }, body: JSON.stringify(body), signal
  })
  await response.arrayBuffer()
  return response.status
}
