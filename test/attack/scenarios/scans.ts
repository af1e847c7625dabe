import { picture } from '#test/services/images/pictures.ts'
import { bombs, pngOf } from '#test/services/images/hostile.ts'
import { API_KEY } from '#test/helper.ts'
import { page } from '#test/scanning/ocr/pages.ts'
import { probeLiveness } from '../probe.ts'
import { bounded, type Scenario } from '../scenario.ts'
import { startTarget, type Target } from '../target.ts'

const AT_ONCE = 50
/** Maximum growth of memory in megabytes, compared with the memory after one image. */
const MEMORY = 600
/** Maximum p95 latency of `/health/live`, in milliseconds. */
const P95 = 200

/** Sends fifty images at a time to OCR: pages, refused images, and the largest allowed ones. */
export const scans: Scenario = {
  name: `OCR of ${AT_ONCE} pictures at a time`,
  async run () {
    const target = await startTarget({ RATE_LIMIT_HEAVY_MAX: '1000000' })
    try {
      const text = await page(['Comune di Bergamo', 'Carta di soggiorno'])
      const files = [
        text, ...bombs().map(({ bytes }) => bytes), pngOf(6000, 4000, 1, 0),
        await picture(6000, 4000).jpeg({ progressive: true }).toBuffer()
      ].map((bytes) => bytes.toString('base64'))
      await read(target, files[0]!)
      const idle = target.memory().now
      const over = new AbortController()
      const probing = probeLiveness(target, over.signal)
      const responses = [
        ...await Promise.all(Array.from({ length: AT_ONCE }, () => read(target, files[0]!))),
        ...await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => read(target, files[n % files.length]!)))
      ]
      over.abort()
      const times = (await probing).sort((a, b) => a - b)
      const p95 = times[Math.floor(times.length * 0.95)] ?? Infinity
      const peak = target.memory().peak - idle
      const afterwards = await read(target, files[0]!)
      const count = (status: number) => responses.filter((each) => each.status === status).length
      return {
        figures: {
          pictures: responses.length,
          read: count(200),
          refused: count(400) + count(413),
          'busy, to be retried': count(503),
          'MB more': Math.round(peak),
          'probes of liveness': times.length,
          'p95, ms': Math.round(p95)
        },
        faults: [
          ...bounded('MB more', peak, MEMORY),
          ...bounded('p95 of /health/live, ms', p95, P95),
          ...(responses.every(({ status }) => [200, 400, 413, 503].includes(status)) ? [] : ['other statuses']),
          ...(responses.every(({ status, retry }) => status !== 503 || retry) ? [] : ['a 503 without Retry-After']),
          ...(count(200) > 0 && count(503) > 0 ? [] : ['no picture was read, or none got a 503']),
          ...(afterwards.status === 200 ? [] : ['no picture is read afterwards'])
        ]
      }
    } finally {
      await target.stop()
    }
  }
}

async function read ({ address }: Target, image: string): Promise<{ status: number, retry: boolean }> {
  const response = await fetch(`${address}/api/ocr`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ image })
  })
  await response.arrayBuffer()
  return { status: response.status, retry: response.headers.has('retry-after') }
}
