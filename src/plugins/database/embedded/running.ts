import { readFile, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '#src/lib/within.ts'
import { removeOldCopies } from './binaries.ts'
import { makeAlias, socketPath } from './endpoint.ts'
import { takeLease, type Lease, type OnLost } from './lease.ts'
import { askToStop, endpointOf, isAlive, isPostmasterOf, kill, launch, noteFile, readNote } from './postmaster.ts'
import { EmbeddedError } from './problems.ts'
import type { Site } from './site.ts'

const POLL_MS = 10
const RETRY_MS = 200
/** Crash recovery replays at most `max_wal_size`; a slow disk takes its time over it. */
const START_LIMIT_MS = 300_000
const STOP_LIMIT_MS = 60_000
/** For an answer when the cluster is left; and when it is known not to answer. */
const ANSWER_WITHIN_MS = 5000
const SILENT_WITHIN_MS = 500
/** A cluster that hangs may still do as it is asked. */
const HANGING_LIMIT_MS = 2000

/**
 * What PostgreSQL says while the processes of a postmaster that was killed are still ending, or when another start came
 * first.
 */
const PASSING = /is still in use|lock file ".*" already exists/

/**
 * The cluster, found running or started; to be called inside the lock of the site.
 * @param isWanted asked before a start: a server that is ending starts nothing any more
 */
export async function attachOrStart (
  site: Site,
  onLost: OnLost,
  isWanted: () => boolean
): Promise<{ lease: Lease, owned: boolean }> {
  const deadline = Date.now() + START_LIMIT_MS
  for (;;) {
    const found = await attach(site, onLost, deadline)
    if (found) return { lease: found, owned: false }
    if (!isWanted()) throw new EmbeddedError('il server si ferma, non lo riavvio')
    const started = await start(site, onLost, deadline)
    if (started) return { lease: started, owned: true }
    failAfter(deadline, site)
    await sleep(RETRY_MS)
  }
}

/** A new lease of a cluster that was lost and is there all the same; undefined when it has ended, or is ending. */
export function attachAgain (site: Site): Promise<Lease | undefined> {
  return attach(site, () => {}, Date.now() + STOP_LIMIT_MS)
}

async function attach (site: Site, onLost: OnLost, deadline: number): Promise<Lease | undefined> {
  for (let note = await readNote(site.folder); note; note = await readNote(site.folder)) {
    const lease = note.ready ? await takeLease(endpointOf(note, site), onLost) : 'absent'
    if (typeof lease === 'object') {
      await makeAliasFor(site, note.socketFolder)
      site.log(`PostgreSQL incorporato: già in esecuzione su ${site.folder} (pid ${note.pid}), lo uso`)
      return lease
    }
    if (lease === 'absent' && !await isPostmasterOf(note.pid, site.folder)) return undefined
    failAfter(deadline, site)
    await sleep(POLL_MS)
  }
  return undefined
}

async function start (site: Site, onLost: OnLost, deadline: number): Promise<Lease | undefined> {
  await removeMisleadingLocks(site)
  const launched = await launch(site)
  for (;;) {
    await sleep(POLL_MS)
    if (launched.hasExited()) return explain(await launched.complaint())
    const note = await readNote(site.folder)
    const lease = note?.ready && note.pid === launched.pid ? await takeLease(endpointOf(note, site), onLost) : 'busy'
    if (typeof lease === 'object') {
      await makeAliasFor(site, site.socketFolder)
      await removeOldCopies(site.home, site.binaries)
      site.log(`PostgreSQL incorporato: ${site.binaries.version} avviato su ${site.folder} (pid ${launched.pid})`)
      return lease
    }
    failAfter(deadline, site)
  }
}

/**
 * PostgreSQL sees through the lock file of a dead process by itself, but takes any living one of that number for its
 * own kind, and gives up on an empty file.
 */
async function removeMisleadingLocks ({ folder, socketFolder, port }: Site): Promise<void> {
  const files = [noteFile(folder), ...(socketFolder === undefined ? [] : [`${socketPath(socketFolder, port)}.lock`])]
  for (const file of files) {
    const pid = await readFile(file, 'utf8').then((text) => Number.parseInt(text, 10), () => undefined)
    if (pid === undefined || await isPostmasterOf(pid, folder)) continue
    if (Number.isNaN(pid) || await isAlive(pid)) await rm(file)
  }
}

function explain (complaint: string): undefined {
  if (PASSING.test(complaint)) return undefined
  const fatal = complaint.split('\n').filter((line) => /FATAL|PANIC/.test(line)).at(-1) ?? complaint.trim()
  throw new EmbeddedError(`non si avvia: ${fatal}`)
}

function failAfter (deadline: number, { home }: Site): void {
  if (Date.now() > deadline) throw new EmbeddedError(`non risponde: vedere ${home}/postgres.log`)
}

async function makeAliasFor ({ account }: Site, socketFolder: string | undefined): Promise<void> {
  if (socketFolder !== undefined) await makeAlias(socketFolder, account)
}

/**
 * Gives the lease back, and stops the cluster when no other process has one; to be called inside the lock of the site.
 * A cluster that does not answer is killed: whoever else uses it starts it again. True: stopped.
 */
export async function leave (site: Site, lease: Lease, isSilent = false): Promise<boolean> {
  const note = await readNote(site.folder)
  let isLast: boolean | undefined
  try {
    if (note) isLast = await answerOf(lease, isSilent ? SILENT_WITHIN_MS : ANSWER_WITHIN_MS)
    if (!note || isLast === false) return false
    await askToStop(note.pid, site)
  } finally {
    await lease.end()
  }
  if (await hasStopped(site, note.pid, isLast ? STOP_LIMIT_MS : HANGING_LIMIT_MS)) return true
  if (!isLast) {
    site.log('PostgreSQL incorporato: non risponde, lo termino')
    await kill(note.pid, site)
    if (await hasStopped(site, note.pid, HANGING_LIMIT_MS)) return true
  }
  throw new EmbeddedError(`non si ferma (pid ${note.pid}): vedere ${site.home}/postgres.log`)
}

/** Whether no other process has a lease; undefined: the cluster does not say so in time. */
async function answerOf (lease: Lease, withinMs: number): Promise<boolean | undefined> {
  let answer: boolean | undefined
  // A lease that broke just now: the next process decides.
  await within(withinMs, lease.isLast().catch(() => false).then((isLast) => { answer = isLast }))
  return answer
}

async function hasStopped ({ folder }: Site, pid: number, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs
  while (await readNote(folder) && await isPostmasterOf(pid, folder)) {
    if (Date.now() > deadline) return false
    await sleep(POLL_MS)
  }
  return true
}
