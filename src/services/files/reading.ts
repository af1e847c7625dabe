import { Readable } from 'node:stream'

/**
 * A stream of what a generator gives out. When it ends, also in the middle of a wait, what the generator reads from is
 * closed.
 */
export function streamOf (
  pieces: AsyncGenerator<Buffer>,
  first: Buffer | undefined,
  { close, failureOf }: { close: () => void, failureOf: (err: unknown) => unknown }
): Readable {
  let next: Promise<Buffer | undefined> | undefined = Promise.resolve(first)
  return new Readable({
    read () {
      const piece = next ?? pieces.next().then(({ value, done }) => done ? undefined : value as Buffer)
      next = undefined
      piece.then((bytes) => this.push(bytes ?? null), (err: unknown) => {
        if (!this.destroyed) this.destroy(failureOf(err) as Error)
      })
    },
    destroy (err, callback) {
      close()
      callback(err)
    }
  })
}
