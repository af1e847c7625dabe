import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { initialiseAhead, startEmbedded } from '#src/plugins/database/embedded/cluster.ts'
import { temporaryFolder } from '#test/helper.ts'

const MADE = /preparo una base dati nuova/

/** What a start says, which is stopped again; it rejects as the start does. */
async function start (dataDir: string): Promise<string[]> {
  const said: string[] = []
  const cluster = await startEmbedded({ dataDir, log: (line) => said.push(line) })
  await cluster.stop()
  return said
}

const made = (said: readonly string[]) => said.filter((line) => MADE.test(line)).length

const isPartial = (dataDir: string) => readdirSync(dataDir).some((name) => name.startsWith('postgres.partial-'))

function dataFolder (t: Test): string {
  return join(temporaryFolder(t), 'data')
}

t.test('a cluster that is made ahead is under way at once, and the start that follows says so, once', async (t) => {
  const dataDir = dataFolder(t)
  await initialiseAhead(dataDir)
  t.ok(isPartial(dataDir), 'initdb is at work')
  t.equal(made(await start(dataDir)), 1)
  await initialiseAhead(dataDir)
  t.equal(made(await start(dataDir)), 0, 'nothing is made where a cluster is')
})

t.test('two that make it ahead, and a start, make one', async (t) => {
  const dataDir = dataFolder(t)
  const ahead = [initialiseAhead(dataDir), initialiseAhead(dataDir)]
  t.equal(made(await start(dataDir)), 1)
  await Promise.all(ahead)
  t.notOk(isPartial(dataDir))
})

t.test('what goes wrong ahead is said by the start', async (t) => {
  const dataDir = dataFolder(t)
  writeFileSync(dataDir, '')
  await initialiseAhead(dataDir)
  await t.rejects(start(dataDir), { code: 'EEXIST' })

  const taken = dataFolder(t)
  mkdirSync(join(taken, 'postgres'), { recursive: true })
  writeFileSync(join(taken, 'postgres', 'altro.txt'), '')
  await initialiseAhead(taken)
  await t.rejects(start(taken), { message: /non è vuota/ })
})
