import type { Database } from '#src/plugins/database/connect.ts'
import { endOfEvents, readEvents, type EventFilters, type Placed } from './list.ts'

/** Events read at a time. */
const BATCH = 100

/** Some events in the format of server-sent events, or none, and the place up to which was looked. */
export interface Frames { place: number, frames: string }

export interface SharedReads {
  /** The next events after a place. */
  read (filters: EventFilters, after: number): Promise<Frames>
  /** There may be new events, which a read that is under way may miss: nobody joins it any more. */
  renew (): void
}

/** A thousand streams that are told of an event read it once, and not a thousand times. */
export function sharedReads (db: Database): SharedReads {
  const underWay = new Map<string, Promise<Frames>>()
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

/** Events that nobody wants are passed, too: a reader of few does not walk through all others again at each look. */
async function readFrames (db: Database, filters: EventFilters, after: number): Promise<Frames> {
  // Before the events are read: those up to here are seen then, and later ones may not be.
  const last = (await endOfEvents(db)).place
  if (last <= after) return { place: after, frames: '' }
  const found = await readEvents(db, filters, after, BATCH)
  const lastFound = found.at(-1)?.posizione ?? after
  return {
    place: found.length === BATCH ? lastFound : Math.max(last, lastFound),
    frames: found.map(frame).join('')
  }
}

function frame ({ event }: Placed): string {
  return `id: ${event.cursor}\nevent: ${event.tipo}\ndata: ${JSON.stringify(event)}\n\n`
}
