import { env } from 'node:process'
import { threadId } from 'node:worker_threads'

/** Tasks that the tests run in threads. */
export type Order =
  | { do: 'echo', value: unknown }
  | { do: 'wait', ms: number }
  | { do: 'spin' }
  | { do: 'hoard' }
  | { do: 'fill' }
  | { do: 'exit' }
  | { do: 'fail' }
  | { do: 'look' }

export default async function obey (order: Order): Promise<unknown> {
  switch (order.do) {
    case 'echo': return order.value
    case 'wait': return await new Promise((resolve) => setTimeout(resolve, order.ms))
    // eslint-disable-next-line no-empty
    case 'spin': for (;;) {}
    case 'hoard': return hoard()
    case 'fill': return fill()
    case 'exit': return process.exit(3)
    case 'fail': throw new TypeError('as asked for')
    case 'look': return { thread: threadId, env: { ...env } }
  }
}

function hoard (): never {
  const held: number[][] = []
  for (;;) held.push(Array.from({ length: 10_000 }, Math.random))
}

/** Fills buffers, and never yields. */
function fill (): never {
  const held = Array.from({ length: 16 }, () => Buffer.alloc(2 ** 24, 1))
  for (;;) held[0]!.reverse()
}
