import { bounded, type Scenario } from '../scenario.ts'
import { startTarget } from '../target.ts'

const FOREIGN = 5100
/** One IP address in several spellings that proxies use. */
const SPELLINGS = [
  '2001:db8::7', '2001:DB8::7', '2001:db8:0:0:0:0:0:7', '2001:0db8::0007', '[2001:db8::7]', '[2001:db8::7]:4711',
  '2001:db8::7%eth0'
]

/** Guesses passwords between requests of thousands of other client IPs, and with every spelling of one IP. */
export const guesses: Scenario = {
  name: 'guesses between foreign addresses',
  async run () {
    const target = await startTarget({ TRUST_PROXY: '127.0.0.1' })
    const guess = async (from: string, email: string) => {
      const response = await fetch(`${target.address}/auth/v1/token?grant_type=password`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
        body: JSON.stringify({ email, password: 'sbagliata-di-certo' })
      })
      await response.arrayBuffer()
      return response.status
    }
    try {
      const first: number[] = []
      for (let n = 0; n < 12; n++) first.push(await guess('192.0.2.1', 'prima@example.org'))
      const ping = (n: number) => fetch(`${target.address}/api/config`, {
        headers: { 'x-forwarded-for': `10.${n >> 16 & 255}.${n >> 8 & 255}.${n & 255}` }
      }).then((response) => response.arrayBuffer())
      for (let n = 0; n < FOREIGN; n += 100) {
        await Promise.all(Array.from({ length: 100 }, (_, k) => ping(n + k)))
      }
      const after = await guess('192.0.2.1', 'prima@example.org')
      const spelled: number[] = []
      for (let n = 0; n < 14; n++) spelled.push(await guess(SPELLINGS[n % SPELLINGS.length]!, 'altra@example.org'))
      const wrong = spelled.filter((status) => status === 400).length
      return {
        figures: { foreign: FOREIGN, 'first guesses taken': first.filter((s) => s === 400).length, after, wrong },
        faults: [
          ...bounded('first guesses', first.filter((status) => status === 400).length, 10),
          ...(after === 429 ? [] : [`the guess after ${FOREIGN} foreign requests was answered with ${after}`]),
          ...bounded('guesses under several spellings', wrong, 10)
        ]
      }
    } finally {
      await target.stop()
    }
  }
}
