import { readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import type { Test } from 'tap'
import { STATE_FILE, type State } from './state.ts'
import { lastSteps } from './steps.ts'

/** Several times what the longest file takes on a quiet machine. */
const LONG_MS = 180_000
/** For what the cluster says of itself: it may be what hangs. */
const ANSWER_WITHIN_MS = 10_000

/**
 * Tells on standard error, again and again, what this process and the cluster are about while a file runs for longer
 * than any should: a run that stands still says why, also if it goes on by itself later.
 * @param running the test that runs, with its own ones
 * @returns to be called when the file has ended
 */
export function watchFile (file: string, running: () => Test, longMs = LONG_MS): () => void {
  const begun = performance.now()
  const before = process.cpuUsage()
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(before)
    const seconds = Math.round((performance.now() - begun) / 1000)
    tell(`${file} runs for ${seconds} s, of them ${Math.round((user + system) / 1e6)} s of processor time`)
    tell(`in ${pathOf(running()).join(' > ')}`)
    tell(`this process waits for ${countsOf(process.getActiveResourcesInfo())}`)
    for (const line of lastSteps()) tell(`step ${line}`)
    void sessions().then((lines) => lines.forEach(tell), (err: unknown) => tell(`the cluster: ${String(err)}`))
  }, longMs)
  timer.unref()
  return () => clearInterval(timer)
}

function tell (line: string): void {
  process.stderr.write(`# long file: ${line}\n`)
}

/** The names of a test and of those inside that run now. */
function pathOf ({ name, activeSubtests }: Pick<Test, 'name'> & Partial<Pick<Test, 'activeSubtests'>>): string[] {
  return [name, ...[...activeSubtests ?? []].flatMap(pathOf)]
}

/** `TCPSocketWrap 2, Timeout`. */
function countsOf (names: string[]): string {
  return [...new Set(names)].map((name) => {
    const count = names.filter((other) => other === name).length
    return count === 1 ? name : `${name} ${count}`
  }).join(', ')
}

/** What the cluster is at in the databases of all tests; of statements the first line. */
async function sessions (): Promise<string[]> {
  const { url } = JSON.parse(readFileSync(STATE_FILE, 'utf8')) as State
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    const rows = await Promise.race([
      sql<{ line: string }[]>`
        select concat_ws(' ', datname, application_name, backend_type, pid, state, wait_event_type, wait_event,
          'for', round(extract(epoch from clock_timestamp() - state_change)), 's, blocked by', pg_blocking_pids(pid),
          split_part(left(query, 200), ${'\n'}, 1)) as line
        from pg_stat_activity where pid <> pg_backend_pid() and state <> 'idle' order by state_change`,
      sleep(ANSWER_WITHIN_MS, undefined, { ref: false })
    ])
    if (!rows) return ['PostgreSQL gives no answer']
    return rows.length === 0 ? ['PostgreSQL waits for work'] : rows.map(({ line }) => `PostgreSQL: ${line}`)
  } finally {
    await sql.end({ timeout: 1 })
  }
}
