import { diskSpace } from '#src/lib/disk-space.ts'
import type { Backend } from './backends/backend.ts'
import { ArchivioPieno } from './errors.ts'

const MIB = 1024 ** 2
/** The default reserve: this share of the disk, but at least one GiB. */
const RESERVE = { share: 0.1, leastBytes: 1024 * MIB }

/**
 * Rejects writes of files while the disk of their folder has less free space than the reserve. The database needs the
 * reserve to start, and to delete files.
 * @param reserveMib undefined means the default reserve
 */
export function keepDiskReserve (backend: Backend, folder: string, reserveMib: number | undefined): Backend {
  /** @throws ArchivioPieno */
  async function requireRoom (): Promise<void> {
    // If the folder is missing, the backend reports it.
    const disk = await diskSpace(folder).catch(() => undefined)
    if (disk === undefined) return
    const reserve = reserveMib === undefined
      ? Math.max(RESERVE.leastBytes, RESERVE.share * disk.size)
      : reserveMib * MIB
    if (disk.free < reserve) throw new ArchivioPieno()
  }

  /** Checks again while the content arrives, because many uploads may run at the same time. */
  async function * whileRoom (content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of content) {
      await requireRoom()
      yield piece
    }
  }

  return {
    ...backend,
    put: (id, content) => backend.put(id, whileRoom(content)),
    async copy (from, to) {
      await requireRoom()
      return await backend.copy(from, to)
    }
  }
}
