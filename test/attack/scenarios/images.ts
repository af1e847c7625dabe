import { picture } from '#test/services/images/pictures.ts'
import { bombs, pngOf } from '#test/services/images/hostile.ts'
import { API_KEY } from '#test/helper.ts'
import { probeLiveness } from '../probe.ts'
import { bounded, type Scenario } from '../scenario.ts'
import { fillBookings, startTarget, type Target } from '../target.ts'

const AT_ONCE = 20
const ROUNDS = 2
/** Maximum growth of memory in megabytes, compared with one stored image: for refused and for accepted images. */
const MEMORY = { bombs: 300, largest: 600 }
/** Maximum p95 latency of `/health/live`, in milliseconds. */
const P95 = 200

/** Sends decompression bombs, twenty at a time: images above the size limit, and the largest allowed ones. */
export const images: Scenario = {
  name: `${AT_ONCE} pixel bombs at a time`,
  async run () {
    const target = await startTarget()
    try {
      await fillBookings(target.sql, 1)
      const [row] = await target.sql`select id from prenotazioni limit 1`
      const upload = uploader(target, Number(row!.id))
      await upload(pngOf(64, 48, 8, 0), 'png')
      const idle = target.memory().now
      const over = new AbortController()
      const probing = probeLiveness(target, over.signal)

      const refused = await storm(upload, bombs().map(({ bytes }) => [bytes, 'png'] as const))
      const afterBombs = target.memory().peak - idle
      const taken = await storm(upload, [
        [pngOf(6000, 4000, 1, 0), 'png'],
        [await picture(6000, 4000).jpeg({ progressive: true }).toBuffer(), 'jpg'],
        [await picture(6000, 4000).png({ progressive: true }).toBuffer(), 'png'],
        [await picture(6000, 4000).webp({ effort: 0 }).toBuffer(), 'webp']
      ])
      over.abort()
      const times = (await probing).sort((a, b) => a - b)
      const p95 = times[Math.floor(times.length * 0.95)] ?? Infinity
      const peak = target.memory().peak - idle
      return {
        figures: {
          bombs: refused.length,
          'MB more, bombs': Math.round(afterBombs),
          'of the largest': taken.length,
          stored: taken.filter((status) => status === 200).length,
          'MB more, the largest': Math.round(peak),
          'probes of liveness': times.length,
          'p95, ms': Math.round(p95)
        },
        faults: [
          ...bounded('MB more, bombs', afterBombs, MEMORY.bombs),
          ...bounded('MB more, the largest that are taken', peak, MEMORY.largest),
          ...bounded('p95 of /health/live, ms', p95, P95),
          ...(refused.every((status) => [400, 413, 503].includes(status)) ? [] : [`answers ${refused.join()}`]),
          ...(taken.every((status) => status === 200 || status === 503) ? [] : [`answers ${taken.join()}`]),
          ...(taken.includes(200) ? [] : ['none of the largest was stored'])
        ]
      }
    } finally {
      await target.stop()
    }
  }
}

type Upload = (image: Buffer, ext: string) => Promise<number>

function uploader (target: Target, booking_id: number): Upload {
  return async (image, ext) => {
    const response = await fetch(`${target.address}/api/documents/upload`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ booking_id, guest_idx: 0, side: 'front', base64Image: image.toString('base64'), ext })
    })
    await response.arrayBuffer()
    return response.status
  }
}

async function storm (upload: Upload, files: readonly (readonly [Buffer, string])[]): Promise<number[]> {
  const statuses: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    statuses.push(...await Promise.all(Array.from({ length: AT_ONCE }, async (_, n) => {
      const [image, ext] = files[n % files.length]!
      return await upload(image, ext)
    })))
  }
  return statuses
}
