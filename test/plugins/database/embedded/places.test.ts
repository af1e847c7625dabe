import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { standIn } from '#src/plugins/database/embedded/account.ts'
import { dataDirOf, everybody, isRoot, postmasterOf, query, serve } from './cluster-servers.ts'
import { copyProject, obstacle } from './programs.ts'

const ordinary = everybody.at(-1) ?? { name: 'nobody' }
const self = everybody[0] ?? { name: 'nobody' }

for (const who of everybody) {
  t.test(`run by ${who.name}`, { skip: obstacle(who) }, async (t) => {
    t.test('a path too long for a socket gets a short private folder, and both servers find it', async (t) => {
      const parent = join(dataDirOf(t, who), 'una-cartella-dal-nome-molto-lungo'.repeat(3), 'con spazi, virgole e %')
      mkdirSync(parent, { recursive: true, mode: 0o755 })
      const dataDir = dataDirOf(t, who, parent)
      const first = serve(t, who, dataDir)
      const { url, connection } = await first.ready
      t.teardown(() => rmSync(connection.host, { recursive: true, force: true }))
      t.match(connection.host, join(tmpdir(), 'locanda-'))
      t.equal(statSync(connection.host).mode & 0o777, 0o700)
      t.same(await query(url, 'select 1 as one'), [{ one: 1 }])
      t.equal((await serve(t, who, dataDir).ready).url, url)
    })

    t.test('a DATA_DIR with spaces, commas and signs in its path works', async (t) => {
      const parent = join(dataDirOf(t, who), 'a b,c@d%20?e')
      mkdirSync(parent)
      const dataDir = dataDirOf(t, who, parent)
      const { url, connection } = await serve(t, who, dataDir, { env: { PGPORT: '6543', PGHOST: 'nowhere.invalid' } })
        .ready
      t.equal(connection.host, join(dataDir, 'postgres'))
      t.same(await query(url, 'select current_database() as database'), [{ database: 'locanda' }])
    })

    t.test(
      'postgres may be a link to another disk; when that disk is missing no empty cluster takes its place',
      async (t) => {
        const disk = dataDirOf(t, who)
        const dataDir = dataDirOf(t, who)
        symlinkSync(join(disk, 'postgres'), join(dataDir, 'postgres'))
        await t.rejects(serve(t, who, dataDir).ready, { message: /non porta a una cartella/ })
        const server = serve(t, who, disk)
        await server.ready
        await server.stop()
        t.equal((await serve(t, who, dataDir).ready).connection.host, join(disk, 'postgres'))
      }
    )

    t.test('a restored folder that is open to others is closed again', async (t) => {
      const dataDir = dataDirOf(t, who)
      const server = serve(t, who, dataDir)
      await server.ready
      await server.stop()
      chmodSync(join(dataDir, 'postgres'), 0o755)
      await serve(t, who, dataDir).ready
      t.equal(statSync(join(dataDir, 'postgres')).mode & 0o777, 0o700)
    })

    t.test('a folder with other things in it is refused and left alone', async (t) => {
      const dataDir = dataDirOf(t, who)
      mkdirSync(join(dataDir, 'postgres'))
      writeFileSync(join(dataDir, 'postgres', 'lettera.txt'), 'cara nonna')
      if (who.uid === undefined) await t.rejects(serve(t, who, dataDir).ready, { message: /non è vuota/ })
      else await t.rejects(serve(t, who, dataDir).ready, { message: /appartiene all'utente 0/ })
      t.same(readdirSync(join(dataDir, 'postgres')), ['lettera.txt'])
    })
  })
}

t.test(
  'as root, data and programs that the stand-in cannot reach',
  { skip: isRoot ? false : 'only root has a stand-in' },
  async (t) => {
    const closed = mkdtempSync(join(tmpdir(), 'locanda-closed-'))
    t.teardown(() => rmSync(closed, { recursive: true, force: true }))

    t.test('data under a closed folder stay there, owned by the stand-in', async (t) => {
      const dataDir = dataDirOf(t, self, closed)
      const first = serve(t, self, dataDir)
      const { url } = await first.ready
      await query(url, 'create table kept as select 42 as value')
      const folder = lstatSync(join(dataDir, 'postgres'))
      t.ok(folder.isDirectory())
      t.not(folder.uid, 0)
      await first.stop()
      t.same(await query((await serve(t, self, dataDir).ready).url, 'select value from kept'), [{ value: 42 }])
    })

    t.test(
      "data restored as root are given back to the stand-in; data of an ordinary user stay that user's",
      { skip: obstacle(ordinary) },
      async (t) => {
        const dataDir = dataDirOf(t, ordinary)
        const first = serve(t, ordinary, dataDir)
        await first.ready
        await first.stop()
        const folder = join(dataDir, 'postgres')
        const second = serve(t, self, dataDir)
        await second.ready
        t.equal(statSync(folder).uid, ordinary.uid)
        await second.stop()

        const restored = dataDirOf(t, self)
        cpSync(folder, join(restored, 'postgres'), { recursive: true, verbatimSymlinks: true })
        t.equal(statSync(join(restored, 'postgres', 'base')).uid, 0)
        await serve(t, self, restored).ready
        t.not(statSync(join(restored, 'postgres', 'base')).uid, 0)
      }
    )

    t.test(
      'programs under a closed folder, and without their library links, are copied beside data that can be reached',
      async (t) => {
        const dataDir = dataDirOf(t, self)
        chmodSync(dataDir, 0o755)
        mkdirSync(join(dataDir, 'postgres-bin-0.0.0'))
        const script = copyProject(join(closed, 'project'), { links: false })
        const server = serve(t, self, dataDir, { script })
        await server.ready
        const copies = readdirSync(dataDir).filter((name) => name.startsWith('postgres-bin-'))
        t.equal(copies.length, 1, 'the copy of an older version is gone')
        const program = readlinkSync(`/proc/${postmasterOf(dataDir)}/exe`)
        t.equal(program, join(dataDir, copies[0] ?? '', 'bin', 'postgres'))
        await server.stop()

        const again = serve(t, self, dataDir, { script })
        await again.ready
        t.notOk(
          again.logs.some((line) => line.includes('li copio')),
          'the copy is kept'
        )
      }
    )
  }
)

t.test(
  'without sockets the cluster listens on loopback, behind a generated password',
  { skip: obstacle(ordinary) },
  async (t) => {
    const dataDir = dataDirOf(t, ordinary)
    const server = serve(t, ordinary, dataDir, { tcp: true })
    const { url, connection } = await server.ready
    t.equal(connection.host, '127.0.0.1')
    t.same(await query(url, 'select 1 as one'), [{ one: 1 }])
    const wrong = new URL(url)
    wrong.password = 'sbagliata'
    await t.rejects(query(wrong.href, 'select 1'), { code: '28P01' })
    t.equal(statSync(join(dataDir, 'postgres.password')).mode & 0o777, 0o600)
    t.equal(readFileSync(join(dataDir, 'postgres.password'), 'utf8'), connection.password)
    const second = serve(t, ordinary, dataDir, { tcp: true })
    t.equal((await second.ready).url, url, 'a second server finds it')
    await second.stop()
    await server.stop()
    t.equal(postmasterOf(dataDir), undefined)
  }
)

t.test('the stand-in for root is the user postgres, else nobody, never root under another name', async (t) => {
  t.same(standIn('root:x:0:0::/root:\nnobody:x:65534:65533::/:\npostgres:x:70:71::/:'), { uid: 70, gid: 71 })
  t.same(standIn('root:x:0:0::/root:\nnobody:x:65534:65533::/:'), { uid: 65534, gid: 65533 })
  t.throws(() => standIn('root:x:0:0::/root:\nnobody:x:0:0::/:'), { message: /DATABASE_URL/ })
})
