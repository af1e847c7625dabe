import type { Database } from '#src/plugins/database/connect.ts'
import { readEvents, type EventFilters, type Placed } from './list.ts'

/** Events read at a time. */
const BATCH = 100

/** Some events in the format of server-sent events, and the place of the last of them. */
export interface Frames { place: number, frames: string }

export interface SharedReads {
  /** The next events after a place, if there are any. */
  read (filters: EventFilters, after: number): Promise<Frames | undefined>
  /** There may be new events, which a read that is under way may miss: nobody joins it any more. */
  renew (): void
}

/** A thousand streams that are told of an event read it once, and not a thousand times. */
export function sharedReads (db: Database): SharedReads {
  const underWay = new Map<string, Promise<Frames | undefined>>()
  return {
    read (filters, after) {
      const key = JSON.stringify([filters, after])
      const joined = underWay.get(key)
      if (joined) return joined
      const own = readFrames(db, filters, after).finally(() => {
        if (underWay.get(key) === own) underWay.delete(key)
      })
      underWay.set(key, own)
      return own
    },
    renew: () => underWay.clear()
  }
}

async function readFrames (db: Database, filters: EventFilters, after: number): Promise<Frames | undefined> {
  const found = await readEvents(db, filters, after, BATCH)
  const last = found.at(-1)
  return last && { place: last.posizione, frames: found.map(frame).join('') }
}

function frame ({ event }: Placed): string {
  return `id: ${event.cursor}\nevent: ${event.tipo}\ndata: ${JSON.stringify(event)}\n\n`
}
