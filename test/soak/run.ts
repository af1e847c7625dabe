import type { ClientResponse } from '#test/crash/responses.ts'
import { checkRecords } from '#test/crash/check-records.ts'
import { sendingClients } from '#test/crash/clients.ts'
import { seededRandom } from '#test/crash/seeded-random.ts'
import { createCaller, type ResponseCounts, type Caller } from './caller.ts'
import { bookings } from './clients/bookings.ts'
import { keepActing } from './clients/client.ts'
import { documents } from './clients/documents.ts'
import { hangUps } from './clients/hang-ups.ts'
import { letters } from './clients/letters.ts'
import { lists } from './clients/lists.ts'
import { mails } from './clients/mails.ts'
import { paced } from './clients/paced.ts'
import { people } from './clients/people.ts'
import { reports } from './clients/reports.ts'
import { scans } from './clients/scans.ts'
import { follower, listeners } from './clients/streams.ts'
import { judgeEvents, judgeMails, type Finding } from './deliveries.ts'
import { createDisturbances, type Disturbance } from './disturbances.ts'
import { carryOut } from './faults.ts'
import { finishAll } from './finish.ts'
import { createLives, type Lives } from './lives.ts'
import { takeSamples, type Sample } from './sampler.ts'
import { startSurroundings, type Surroundings } from './surroundings.ts'

/** The data and the results of a run. */
interface SoakResult {
  samples: Sample[]
  disturbances: readonly Disturbance[]
  responses: ResponseCounts
  servers: number
  /** Number of log lines with level error, by message. */
  errors: ReadonlyMap<string, number>
  findings: Finding[]
}

/** Minimum pause between two submissions. */
const SUBMISSION_MS = 400
const LISTENERS = 3
/** Number of samples per run, at most one a second. */
const SAMPLES = 360

/** Runs the load and the faults for `minutes`, then lets the last servers finish all work. */
export async function soak (minutes: number, seed: number): Promise<SoakResult> {
  const random = seededRandom(seed)
  const surroundings = await startSurroundings(random)
  const disturbances = createDisturbances()
  const lives = createLives(surroundings.environ, disturbances)
  const address = () => lives.current?.address
  const caller = createCaller(address, disturbances)
  const over = new AbortController()
  const everyMs = Math.max(minutes * 60_000 / SAMPLES, 1000)
  try {
    await lives.start()
    const from = await addWebhook(caller, surroundings)
    const pace = paced(SUBMISSION_MS, caller, disturbances.now)
    const sending = sendingClients(random, () => lives.current && pace(lives.current))
    const common = { ask: caller.ask, surprise: caller.surprise, random, admin: surroundings.admin }
    const count = (status: number | undefined, since: number) => {
      caller.count('GET /api/v1/eventi (stream)', status, since)
    }
    const streams = { ...common, address, now: disturbances.now, count }
    const [following, mailing] = [follower(streams), mails(common)]
    const clients = [
      following, mailing, bookings(common), lists(common), await documents(common), letters(common), reports(common),
      scans(common), people(common), hangUps(common, address),
      ...Array.from({ length: LISTENERS }, () => listeners(streams))
    ]
    const working = [
      sending.work(),
      sending.work(),
      ...clients.map((client) => keepActing(client, random, () => lives.current !== undefined, over.signal))
    ]
    const sampling = takeSamples({ lives, disturbances, surroundings }, everyMs, over.signal)
    await carryOut({ lives, surroundings, disturbances }, minutes * 60_000)
    over.abort()
    sending.stop()
    following.leave()
    await Promise.all(working)
    const waiting = await finishAll(lives, surroundings)
    const seen = { ...surroundings, disturbances }
    return {
      samples: await sampling,
      disturbances: disturbances.all,
      responses: caller.responses,
      servers: lives.number,
      errors: lives.errors,
      findings: [
        judgeResponses(caller.responses, lives),
        await judgeRecords(surroundings, sending.responses),
        await judgeMails(seen, mailing.promised),
        await judgeEvents(seen, from, following.heard),
        {
          name: 'left to do',
          detail: 'when the last server ended',
          faults: Object.entries(waiting).filter(([, count]) => count > 0).map(([kind, count]) => `${count} ${kind}`)
        }
      ]
    }
  } finally {
    over.abort()
    await lives.end()
    await surroundings.stop()
  }
}

/** @returns the position of the last event before the webhook */
async function addWebhook (
  { ask }: Pick<Caller, 'ask'>, { admin, receiver, connection: { sql } }: Surroundings
): Promise<number> {
  const made = await ask('POST', '/api/v1/webhooks', { body: { url: receiver.url }, headers: admin, expected: [201] })
  if (!made) throw new Error('the webhook could not be made')
  const [{ position }] = await sql<[{ position: number }]>`select coalesce(max(posizione), 0) as position from eventi`
  return position
}

function judgeResponses ({ classes, excused, surprises }: ResponseCounts, lives: Lives): Finding {
  const counts = Object.entries(classes).toSorted().map(([name, count]) => `${name} ${count}`).join(', ')
  return {
    name: 'answers',
    detail: `${counts}; ${excused} excused by a fault`,
    faults: [...[...surprises].map(([what, count]) => `${what} (${count}×)`), ...lives.surprises]
  }
}

async function judgeRecords (
  { connection, keys, police }: Surroundings, responses: readonly ClientResponse[]
): Promise<Finding> {
  const { submissions, states, double, respelled, lost, forgotten, broken } =
    await checkRecords(connection, keys, responses, police.acquired())
  const counts = Object.entries(states).map(([state, count]) => `${state} ${count}`).join(', ')
  return {
    name: 'police records',
    detail: `${submissions} submissions: ${counts}`,
    faults: Object.entries({ double, respelled, lost, forgotten, broken })
      .flatMap(([kind, list]) => list.map((each) => `${kind}: ${each}`))
  }
}
