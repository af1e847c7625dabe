import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { startServer } from '#test/running-server.ts'
import { ask, bearer, person, signIn } from '../requests.ts'
import { bounded, type Scenario } from '../scenario.ts'
import { onTarget, type Target } from '../target.ts'

const PROGRAM = fileURLToPath(new URL('../../../src/cli/index.ts', import.meta.url))

/** A restore of an older backup must revive no session, no key, and no banned or deleted person. */
export const restored: Scenario = {
  name: 'credentials of an older backup',
  async run () {
    const folder = await mkdtemp(join(tmpdir(), 'locanda-backup-'))
    const backupEnv = { BACKUP_DIR: folder, BACKUP_PASSPHRASE: 'otto barche sul lago' }
    try {
      return await onTarget({ ...backupEnv, RATE_LIMIT_LOGIN_MAX: '1000' }, async (target) => {
        const service = bearer(target.serviceKey)
        const people = [await person(target), await person(target), await person(target)]
        const [banned, deleted, kept] = people.map(({ id }) => `/auth/v1/admin/users/${id}`)
        const path = join(folder, 'locanda-2026-11-20.tar.age')
        run(['backup', path], target.env)
        await ask(target, 'PUT', banned!, service, { ban_duration: '1000h' })
        await ask(target, 'DELETE', deleted!, service)
        await ask(target, 'POST', '/api/sessions/revoke-all', people[2]!.session, {})
        await runJob(target, 'erasures-file')
        await target.sql`create database restored`
        const url = new URL(target.env.DATABASE_URL!)
        url.pathname = '/restored'
        const env = { ...target.env, DATABASE_URL: url.href, DATA_DIR: join(folder, 'data') }
        run(['restore', path], env)
        const server = await startServer({ ...env, LOG_LEVEL: 'info' })
        try {
          return await revived({ ...target, ...server }, people, kept!)
        } finally {
          await server.end()
        }
      })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

async function revived (target: Target, people: Awaited<ReturnType<typeof person>>[], kept: string) {
  const statuses: number[] = []
  for (const { session, key, refresh, email } of people) {
    for (const credentials of [session, key.credentials]) {
      statuses.push((await ask(target, 'GET', '/api/v1/prenotazioni', credentials)).status)
    }
    const grant = '/auth/v1/token?grant_type=refresh_token'
    statuses.push((await ask(target, 'POST', grant, {}, { refresh_token: refresh })).status)
    // The password of the third person is still valid.
    if (email !== people[2]!.email) statuses.push((await signIn(target, email)).status)
  }
  const { status } = await ask(target, 'GET', kept, bearer(target.serviceKey))
  const succeeded = statuses.filter((each) => each < 400).length
  return {
    figures: { credentials: statuses.length, revived: succeeded, 'the kept person': status },
    faults: [...bounded('revived', succeeded, 0), ...(status === 200 ? [] : ['the kept person was not restored'])]
  }
}

function run (args: readonly string[], env: Record<string, string>): void {
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], { env, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

async function runJob (target: Target, name: string): Promise<void> {
  const service = bearer(target.serviceKey)
  await ask(target, 'POST', `/api/v1/jobs/${name}/avvia`, service)
  const isRunning = async () => (await ask<{ data: { nome: string, in_corso: boolean }[] }>(
    target, 'GET', '/api/v1/jobs', service
  )).answer.data.some(({ nome, in_corso: running }) => nome === name && running)
  while (await isRunning()) await sleep(50)
}
