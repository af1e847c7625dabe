import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '#test/free-port.ts'
import { describeParts, judgeFlatness } from './flatness.ts'
import { liveHeap } from './heap.ts'
import type { Sample } from './sampler.ts'

t.test('of a server it is told what it holds, and in which part of its memory', async (t) => {
  const port = await freePort()
  const program = 'globalThis.held = new ArrayBuffer(2 ** 26); setInterval(() => {}, 1000); console.log("ready")'
  const { pid } = await begin(t, program, port)
  const { heap, held, parts } = await liveHeap(pid, port)
  t.ok(heap > 64 && heap < 200, String(heap))
  t.ok(parts!.arrayBuffers >= 64 && parts!.arrayBuffers < 80, JSON.stringify(parts))
  t.ok(parts!.rss > parts!.heapTotal)
  t.equal(held, parts!.rss)
})

t.test('garbage of threads is not held', async (t) => {
  const port = await freePort()
  // It is garbage from a moment on when V8 has come to rest: nothing but a demand collects it soon.
  const litter = `let all = []
    for (let left = 4e6; left > 0; left--) all.push({ left })
    setTimeout(() => {
      all = undefined
      require('node:worker_threads').parentPort.on('message', () => {}).postMessage('littered')
    }, 1000)`
  const program = `const { Worker } = require('node:worker_threads')
    const littered = () => new Promise((resolve) => {
      new Worker(${JSON.stringify(litter)}, { eval: true }).on('message', resolve)
    })
    Promise.all([littered(), littered()]).then(() => console.log('ready'))`
  const { pid } = await begin(t, program, port)
  const before = residentMegabytes(pid)
  const { held } = await liveHeap(pid, port)
  t.ok(held < before - 50, `${held} of ${before}`)
})

t.test('a server that is killed while it is looked at is no longer waited for', async (t) => {
  const port = await freePort()
  const program = 'setInterval(() => {}, 1000); console.log("ready")'
  for (const after of [0, 50, 150, 300]) {
    const { pid, kill } = await begin(t, program, port)
    const looked = liveHeap(pid, port)
    await sleep(after)
    await kill()
    const seen = await Promise.race([looked, sleep(15_000, 'nothing', { ref: false })])
    t.not(seen, 'nothing', `killed after ${after} ms`)
  }
})

/** A process that runs this program, once it has said something; killed at the latest when the test ends. */
async function begin (t: Test, program: string, port: number): Promise<{ pid: number, kill: () => Promise<unknown> }> {
  const child = spawn(process.execPath, [`--inspect-port=${port}`, '-e', program], {
    stdio: ['ignore', 'pipe', 'ignore']
  })
  const ended = once(child, 'close')
  const kill = () => {
    child.kill('SIGKILL')
    return ended
  }
  t.teardown(kill)
  await once(child.stdout, 'data')
  return { pid: child.pid!, kill }
}

function residentMegabytes (pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

t.test('how each part of the memory went in a life is one line', async (t) => {
  const at = (minute: number, rss: number) =>
    ({ minute, life: 1, parts: { rss, heapTotal: 50, external: 8, arrayBuffers: 4 } }) as unknown as Sample
  t.same(describeParts([at(0, 100), { minute: 1, life: 1 } as Sample, at(2, 110), { minute: 3, life: 2 } as Sample]), [
    'server 1: rss 100 → 110 MB (+5.00/min), heapTotal 50 → 50 MB (+0.00/min), ' +
      'external 8 → 8 MB (+0.00/min), arrayBuffers 4 → 4 MB (+0.00/min)'
  ])
})

t.test('what rises, takes a large step, or could not be looked at is not said to stay flat', async (t) => {
  const at = (minute: number, held: number) =>
    ({ minute, life: 1, memory: 90, heap: 50, held, descriptors: 20, connections: 8 }) as Sample
  const judged = (held: (minute: number) => number) => {
    const samples = Array.from({ length: 10 }, (_, n) => at(n, held(n)))
    return judgeFlatness(samples).map(({ name, ok }) => `${name.split(',')[0]} ${ok}`)
  }
  const others = ['heap true', 'descriptors true', 'connections true']
  t.same(judged(() => 80), ['held true', 'held true', ...others])
  t.same(judged(() => NaN), ['held false', 'held false', ...others])
  t.same(judged((minute) => 80 + 2 * minute), ['held false', 'held true', ...others])
  t.same(judged((minute) => minute < 6 ? 80 : 90), ['held true', 'held true', ...others], 'a step is no rise')
  t.same(judged((minute) => minute < 6 ? 80 : 100), ['held true', 'held false', ...others], 'but for a large one')
})
