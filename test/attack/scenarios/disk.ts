import { randomBytes } from 'node:crypto'
import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { ask, bearer } from '../requests.ts'
import type { Scenario } from '../scenario.ts'
import { onTarget } from '../target.ts'

const MIB = 1024 ** 2
/** Megabytes that all uploads may fill, and megabytes of one upload. */
const ROOM = 400
const UPLOAD = 40
const MAX_UPLOADS = 40

/** Uploads until only the reserve of the disk is free. The server must still accept bookings and delete files. */
export const disk: Scenario = {
  name: 'uploads that fill the disk',
  async run () {
    const { bavail, bsize } = statfsSync(tmpdir())
    const reserve = Math.floor(bavail * bsize / MIB) - ROOM
    return await onTarget({ DISK_RESERVE_MIB: String(reserve) }, async (target) => {
      const service = bearer(target.serviceKey)
      const video = randomBytes(UPLOAD * MIB)
      const upload = async (n: number) => {
        const sent = ask(target, 'POST', `/storage/v1/object/public/video-${n}`, service, video)
        // A refused upload may end its connection.
        return (await sent.catch(() => ({ status: 507 }))).status
      }
      const statuses = [await upload(0)]
      while (statuses.at(-1) === 200 && statuses.length < MAX_UPLOADS) statuses.push(await upload(statuses.length))
      const free = Math.floor(statfsSync(tmpdir()).bavail * bsize / MIB) - reserve
      const booked = await ask(target, 'POST', '/api/v1/prenotazioni', service, {
        nome_cognome: 'Anna Bianchi',
        lingua: 'IT',
        paese_id: 380,
        check_in: '2026-11-22',
        numero_notti: 1,
        numero_ospiti: 1
      })
      const ready = await ask(target, 'GET', '/health/ready')
      const prefixes = statuses.map((_, n) => `video-${n}`)
      const deleted = await ask(target, 'DELETE', '/storage/v1/object/public', service, { prefixes })
      const after = [booked.status, ready.status, deleted.status]
      return {
        figures: { uploads: statuses.length, 'MB above the reserve': free, booked: after[0]!, ready: after[1]! },
        faults: [
          ...(statuses.at(-1) === 507 ? [] : [`the last upload was answered with ${statuses.at(-1)}`]),
          ...(free > -UPLOAD ? [] : [`${-free} MB of the reserve are used`]),
          ...(after.join() === '201,200,200' ? [] : [`booking, readiness, deletion: ${after.join()}`])
        ]
      }
    })
  }
}
