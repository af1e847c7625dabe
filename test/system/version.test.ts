import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import manifest from '../../package.json' with { type: 'json' }
import { checkedOutCommit, commitOf, taggedVersion, versionOf } from '#src/lib/checkout.ts'
import { build, temporaryFolder } from '#test/helper.ts'

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))

function git (folder: string, ...args: string[]): string {
  const author = ['-c', 'user.name=prova', '-c', 'user.email=prova@example.org', '-c', 'commit.gpgsign=false']
  return execFileSync('git', [...author, ...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trim()
}

/** Makes a repository with one commit, and gives the hash. */
function repository (folder: string): string {
  git(folder, 'init', '-q')
  git(folder, 'commit', '-q', '--allow-empty', '-m', 'prova')
  return git(folder, 'rev-parse', 'HEAD')
}

t.test('anybody learns version, commit and deploy, and may keep them for five minutes', async (t) => {
  const { app } = await build(t, { HOSTING_DEPLOY: 'vetrina-2' })
  const answer = await app.inject('/api/version')
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), {
    version: await taggedVersion(PACKAGE) ?? manifest.version,
    latestCommit: await checkedOutCommit(PACKAGE),
    hostingDeploy: 'vetrina-2'
  })
  t.equal(answer.headers['cache-control'], 'public, max-age=300')
  t.same((await app.inject({ url: '/api/version', headers: { authorization: 'Bearer x' } })).json(), answer.json())
})

t.test('without HOSTING_DEPLOY the deploy is local; a database that is gone changes nothing', async (t) => {
  const { app } = await build(t)
  await app.sql.end()
  t.match((await app.inject('/api/version')).json(), { hostingDeploy: 'local', version: /^\d+\.\d+\.\d+/ })
})

t.test('the commit is that of the repository whose root the folder is, and of no other', async (t) => {
  const outer = temporaryFolder(t)
  t.equal(await checkedOutCommit(outer), '', 'no repository')
  const head = repository(outer)
  t.equal(await checkedOutCommit(outer), head)

  const inner = join(outer, 'node_modules', 'locanda')
  mkdirSync(inner, { recursive: true })
  t.equal(await checkedOutCommit(inner), '', 'a package inside another repository')

  const tree = join(temporaryFolder(t), 'albero')
  git(outer, 'worktree', 'add', '-q', tree)
  git(tree, 'commit', '-q', '--allow-empty', '-m', 'altra')
  t.equal(await checkedOutCommit(tree), git(tree, 'rev-parse', 'HEAD'), 'a work tree')
  t.not(await checkedOutCommit(tree), head)

  rmSync(join(outer, '.git', 'HEAD'))
  t.equal(await checkedOutCommit(outer), '', 'a repository that is broken')
  const empty = temporaryFolder(t)
  git(empty, 'init', '-q')
  t.equal(await checkedOutCommit(empty), '', 'one without a commit')
  t.equal(await checkedOutCommit(join(empty, 'manca')), '', 'no folder')
})

t.test('a repository that the environment names is not asked', async (t) => {
  const [mine, other] = [temporaryFolder(t), temporaryFolder(t)]
  const head = repository(mine)
  repository(other)
  git(other, 'commit', '-q', '--allow-empty', '-m', 'altra')
  writeFileSync(join(mine, 'domanda.ts'), `
    import { checkedOutCommit } from ${JSON.stringify(join(PACKAGE, 'src/lib/checkout.ts'))}
    console.log(await checkedOutCommit(${JSON.stringify(mine)}))`)
  const answer = execFileSync(process.execPath, [join(mine, 'domanda.ts')], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, GIT_DIR: join(other, '.git') }
  })
  t.equal(answer.trim(), head)
})

t.test('what a build has noted counts only where it is the hash of a commit', async (t) => {
  t.equal(commitOf('4b825dc642cb6eb9a060e54bf8d69288fbee4904\n'), '4b825dc642cb6eb9a060e54bf8d69288fbee4904')
  t.equal(commitOf('a'.repeat(64)), 'a'.repeat(64))
  for (const text of ['', 'main', 'a'.repeat(39), 'a'.repeat(41), `${'a'.repeat(40)}; x`]) t.equal(commitOf(text), '')
})

t.test('the version is that of the last tag, and says how far the commit is from it', async (t) => {
  const folder = temporaryFolder(t)
  t.equal(await taggedVersion(folder), undefined, 'no repository')
  repository(folder)
  t.equal(await taggedVersion(folder), undefined, 'no tag')
  git(folder, 'tag', 'provvisorio')
  t.equal(await taggedVersion(folder), undefined, 'a tag of something else')
  git(folder, 'tag', '-m', 'la prima', 'v1.2.3')
  t.equal(await taggedVersion(folder), '1.2.3')
  git(folder, 'commit', '-q', '--allow-empty', '-m', 'altra')
  t.equal(await taggedVersion(folder), `1.2.3+1.g${git(folder, 'rev-parse', '--short', 'HEAD')}`)
  git(folder, 'tag', 'v2.0.0-rc.1')
  t.equal(await taggedVersion(folder), '2.0.0-rc.1')
  t.equal(versionOf('v1.2-3-gabc'), undefined)
})
