import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { bounded, timed, type Scenario } from '../scenario.ts'
import { startTarget } from '../target.ts'

/** Opens more sockets than the process may open files. Each socket sends one byte of a request. */
export const sockets: Scenario = {
  name: 'sockets that send one byte',
  async run () {
    const target = await startTarget({}, 4096)
    const opened: Socket[] = []
    try {
      for (let n = 0; n < 4200; n++) {
        const socket = connect(target.port, '127.0.0.1')
        socket.on('error', () => {})
        opened.push(socket)
        await Promise.race([once(socket, 'connect'), once(socket, 'close'), sleep(1000)])
        socket.write('G')
      }
      const refused = opened.filter(({ destroyed }) => destroyed).length
      for (const socket of opened) socket.destroy()
      const ms = await timed(async () => {
        while (!(await target.get('/health/ready').then(({ ok }) => ok, () => false))) await sleep(50)
      })
      const isAlive = await Promise.race([target.ended.then(() => false), sleep(10, true)])
      return {
        figures: { sockets: opened.length, refused, 'ms until ready': Math.round(ms) },
        faults: [...(isAlive ? [] : ['the process has exited']), ...bounded('ms until ready', ms, 10_000)]
      }
    } finally {
      await target.stop()
    }
  }
}
