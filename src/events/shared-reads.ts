import type { Event } from '#schemas/event.ts'
import type { Database } from '#src/database/connect.ts'
import { readEvents, type EventFilters } from './list.ts'
import type { Reached } from './position.ts'

/** Events read at a time. */
const BATCH = 100

/** Some events in the format of server-sent events, or none; the cursor of the last of them; up to where was looked. */
export interface Frames { frames: string, last: string | undefined, reached: Reached }

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

async function readFrames (db: Database, filters: EventFilters, after: number): Promise<Frames> {
  const { events, reached } = await readEvents(db, filters, after, BATCH)
  return { frames: events.map(frame).join(''), last: events.at(-1)?.cursor, reached }
}

function frame (event: Event): string {
  return `id: ${event.cursor}\nevent: ${event.tipo}\ndata: ${JSON.stringify(event)}\n\n`
}
