import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { takeLease } from '#src/plugins/database/embedded/lease.ts'
import { launch } from '#src/plugins/database/embedded/postmaster.ts'
import { temporaryFolder } from '#test/helper.ts'

t.test('a server that hangs up when it is asked for a lease is absent, at whatever moment it does so', async (t) => {
  const folder = temporaryFolder(t)
  let n = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    if (n++ % 2 === 0) socket.destroy()
    else setImmediate(() => socket.destroy())
  })
  const port = 5432
  await new Promise<void>((resolve) => server.listen(join(folder, `.s.PGSQL.${port}`), resolve))
  t.teardown(() => server.close())
  for (let i = 0; i < 100; i++) t.equal(await takeLease({ host: folder, port }, () => {}), 'absent')
})

t.test('of a PostgreSQL that ends without a word it is said how it ended', async (t) => {
  const home = temporaryFolder(t)
  const [folder, bin] = [join(home, 'postgres'), join(home, 'bin')]
  for (const each of [folder, bin]) mkdirSync(each)
  const ends = { 'kill -KILL $$': 'SIGKILL', 'exit 3': 'codice 3' }
  for (const [script, how] of Object.entries(ends)) {
    writeFileSync(join(bin, 'postgres'), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, 'postgres'), 0o700)
    const launched = await launch({
      home,
      folder,
      binaries: { bin, version: '0' },
      account: undefined,
      socketFolder: home,
      port: 1,
      password: undefined,
      settings: {},
      log: () => {}
    })
    while (!launched.hasExited()) await sleep(5)
    t.equal(await launched.complaint(), `si è fermato senza un messaggio (${how})`)
  }
})
