import { randomInt } from 'node:crypto'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { runFuzz } from '#test/fuzz/run.ts'
import { fuzzServer } from '#test/fuzz/server.ts'
import { runRawCorpus } from '#test/http/raw-sockets.ts'
import type { Scenario } from './scenario.ts'
import { firstPassword, handles, links, roles, schemes, scopes } from './scenarios/access.ts'
import { bodies } from './scenarios/bodies.ts'
import { disk } from './scenarios/disk.ts'
import { guesses } from './scenarios/guesses.ts'
import { head } from './scenarios/head.ts'
import { images } from './scenarios/images.ts'
import { lists } from './scenarios/lists.ts'
import { restored } from './scenarios/restored.ts'
import { scans } from './scenarios/scans.ts'
import { search } from './scenarios/search.ts'
import { signUps } from './scenarios/sign-ups.ts'
import { shares, slowBodies, slowLinks } from './scenarios/slow.ts'
import { sockets } from './scenarios/sockets.ts'
import { turns } from './scenarios/turns.ts'
import { users } from './scenarios/users.ts'
import { waiting } from './scenarios/waiting.ts'

/*
 * `npm run test:attack -- --only lists --cases 20000 --seed 1` attacks a full-size server process from outside, and
 * prints one line per attack. Attacks that need no such size are ordinary tests.
 */

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    cases: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) }
  }
})

const bytes: Scenario = {
  name: 'bytes that no client sends',
  async run () {
    const server = await fuzzServer()
    try {
      const { cases, faults } = await runRawCorpus(Number(new URL(server.address).port))
      return { figures: { cases }, faults }
    } finally {
      await server.end()
    }
  }
}

const fuzz: Scenario = {
  name: 'requests from the description',
  async run () {
    const server = await fuzzServer()
    try {
      const { requests, accepted, slowest, faults } = await runFuzz({
        ...server, cases: Number(values.cases), seed: Number(values.seed)
      })
      return { figures: { seed: Number(values.seed), requests, ...accepted, 'slowest, ms': slowest.ms }, faults }
    } finally {
      await server.end()
    }
  }
}

const scenarios = {
  sockets,
  lists,
  head,
  search,
  'sign-ups': signUps,
  guesses,
  bodies,
  images,
  scans,
  turns,
  users,
  'slow-bodies': slowBodies,
  'slow-links': slowLinks,
  shares,
  waiting,
  disk,
  restored,
  roles,
  scopes,
  'first-password': firstPassword,
  links,
  schemes,
  handles,
  bytes,
  fuzz
}

for (const [key, { name, run }] of Object.entries(scenarios)) {
  if (values.only !== '' && !values.only.split(',').includes(key)) continue
  const { figures, faults } = await run()
  const summary = Object.entries(figures).map(([what, value]) => `${what} ${value}`).join(', ')
  process.stdout.write(`${faults.length === 0 ? 'held' : 'FAILED'}  ${name}: ${summary}\n`)
  for (const fault of faults.slice(0, 50)) process.stdout.write(`        ${fault}\n`)
  if (faults.length > 0) process.exitCode = 1
}
