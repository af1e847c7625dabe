import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { temporaryFolder } from './helper.ts'

const INSTALLER = fileURLToPath(new URL('../.programs/packages.cjs', import.meta.url))
const skip = ['tar', 'npm', 'sh'].some((name) => spawnSync(name, ['--version']).error)
  ? 'there is no tar, sh or npm'
  : false
const otherSystem = process.platform === 'linux' ? 'darwin' : 'linux'

type Entry = Record<string, unknown>

/** The packages of the lock file, by their places; all other fields are what npm writes there of each. */
const PACKAGES: Record<string, Entry> = {
  'node_modules/a': {
    bin: { a: 'bin/a.js' },
    dependencies: { b: '1', '@scope/c': '1' }
  },
  'node_modules/b': { dependencies: { a: '1' } },
  'node_modules/a/node_modules/b': { bin: { nested: 'bin/a.js' }, peerDependencies: { peer: '1' } },
  'node_modules/peer': { peer: true },
  'node_modules/@scope/c': {
    optionalDependencies: { here: '1', elsewhere: '1', anywhere: '1', chip: '1', library: '1' }
  },
  'node_modules/here': { optional: true, os: [process.platform], cpu: [process.arch] },
  'node_modules/anywhere': { optional: true, os: ['!aix'] },
  'node_modules/elsewhere': { optional: true, os: [otherSystem], dependencies: { 'elsewhere-only': '1' } },
  'node_modules/elsewhere-only': { optional: true },
  'node_modules/chip': { optional: true, cpu: [process.arch === 'x64' ? 'arm64' : 'x64'] },
  'node_modules/library': { optional: true, libc: ['neither'] },
  'node_modules/tool': { dev: true, dependencies: { 'tool-only': '1', b: '1' } },
  'node_modules/tool-only': { dev: true }
}
const ROOT = { name: 'installed', version: '1.0.0', dependencies: { a: '1', b: '1' }, devDependencies: { tool: '1' } }

/** A registry on loopback with an archive for each package, and a folder with a lock file that names them. */
async function project (t: Test) {
  const folder = temporaryFolder(t)
  const home = temporaryFolder(t)
  const archives = new Map<string, Buffer>()
  const server = createServer(({ url = '' }, reply) => {
    const archive = archives.get(url)
    reply.statusCode = archive ? 200 : 404
    reply.end(archive)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })

  const packages: Record<string, Entry> = { '': ROOT }
  for (const [path, entry] of Object.entries(PACKAGES)) {
    const archive = packed(temporaryFolder(t), path)
    const address = `/npm/${path.replaceAll('/', '-')}.tgz`
    archives.set(address, archive)
    const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`
    packages[path] = { version: '1.0.0', resolved: `https://registry.invalid${address.slice(4)}`, integrity, ...entry }
  }
  const lock = { name: 'installed', version: '1.0.0', lockfileVersion: 3, requires: true, packages }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(ROOT))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  writeFileSync(join(folder, '.npmrc'), 'replace-registry-host=registry.invalid\naudit=false\nfetch-retries=0\n')

  const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/npm`
  /** What the installation says, and its code. */
  const run = async (command: string, args: readonly string[], env: Record<string, string> = {}) => {
    const child = spawn(command, args, {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        npm_config_registry: registry,
        npm_config_cache: join(home, 'cache'),
        npm_config_cafile: '',
        ...env
      }
    })
    const ended = once(child, 'close') as Promise<[number | null]>
    const [said, complained, [status]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    return { status, said, complained }
  }
  return {
    archives,
    modules: join(folder, 'node_modules'),
    install: (env?: Record<string, string>, options: readonly string[] = []) =>
      run(process.execPath, [INSTALLER, folder, ...options], env),
    npm: (env?: Record<string, string>) => run('npm', ['ci', '--ignore-scripts'], env)
  }
}

/** An archive as `npm pack` makes it, with files that not everybody may read, or run. */
function packed (folder: string, path: string): Buffer {
  const files: Record<string, [content: string, mode: number]> = {
    'package/package.json': [JSON.stringify({ name: path.replace(/^.*node_modules\//, ''), version: '1.0.0' }), 0o600],
    'package/bin/a.js': ['#!/usr/bin/env node\n', 0o644],
    'package/run.sh': ['#!/bin/sh\n', 0o755],
    [`package/${'long'.repeat(40)}/${'è'.repeat(60)}.js`]: [path, 0o644]
  }
  for (const [file, [content, mode]] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), content)
    chmodSync(join(folder, file), mode)
  }
  // Some were packed by a system that knows no modes: an own folder that nobody may enter, and files of it much later.
  const odd = join(folder, 'package', 'odd')
  mkdirSync(odd)
  writeFileSync(join(odd, 'file.js'), 'odd')
  spawnSync('tar', ['-cf', 'archive', '--mode=644', '--no-recursion', 'package/odd'], { cwd: folder })
  spawnSync('tar', ['-rf', 'archive', 'package'], { cwd: folder })
  spawnSync('gzip', ['archive'], { cwd: folder })
  return readFileSync(join(folder, 'archive.gz'))
}

/** Every file and link below a folder, with its mode and what it holds, but for npm's own note. */
function contentOf (folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory() || entry.name === '.package-lock.json') return []
    if (entry.isSymbolicLink()) return [`${path} -> ${readlinkSync(path)}`]
    return [`${path} ${(statSync(path).mode & 0o777).toString(8)} ${readFileSync(path, 'utf8')}`]
  }).sort()
}

t.test('a quick installation brings, file by file, what npm brings', { skip }, async (t) => {
  const { install, npm, modules } = await project(t)
  for (const omit of ['', 'dev']) {
    const env = { npm_config_omit: omit }
    t.match(await npm(env), { status: 0 })
    const brought = contentOf(modules)
    t.ok(brought.length > 20)
    const { status, said, complained } = await install(env)
    t.same([status, complained], [0, ''])
    t.match(said, /^Locanda: \d+ pacchetti in [\d.]+ s\n$/)
    t.same(contentOf(modules), brought)
    t.equal(existsSync(join(modules, 'tool')), omit === '')
  }
})

t.test('what a pattern names is not unpacked', { skip }, async (t) => {
  const { install, modules } = await project(t)
  t.match(await install({}, ['--exclude=package/none', '--exclude=*.sh']), { status: 0, complained: '' })
  const names = readdirSync(join(modules, 'peer'))
  t.ok(names.includes('package.json'))
  t.notOk(names.includes('run.sh'))
})

t.test('what was there before is gone', { skip }, async (t) => {
  const { install, modules } = await project(t)
  mkdirSync(join(modules, 'old'), { recursive: true })
  t.match(await install(), { status: 0, complained: '' })
  t.notOk(existsSync(join(modules, 'old')))
})

t.test('an archive that is not the lock file\'s is not unpacked, and the installation fails', { skip }, async (t) => {
  const { install, archives, modules } = await project(t)
  const [address = '', archive = Buffer.alloc(0)] = [...archives].find(([, archive]) => archive.length > 0) ?? []
  for (const other of [packed(temporaryFolder(t), 'another'), archive.subarray(0, -1)]) {
    archives.set(address, other)
    const { status, said, complained } = await install()
    t.not(status, 0)
    t.equal(said, '')
    t.match(complained, /another archive than the lock file's/)
    t.match(complained, /EINTEGRITY/, 'npm has not taken it either')
    t.notOk(existsSync(join(modules, 'a', 'package.json')))
  }
})

t.test('an archive that is not to be had ends the installation with a failure', { skip }, async (t) => {
  const { install, archives } = await project(t)
  archives.delete('/npm/node_modules-peer.tgz')
  const { status, complained } = await install()
  t.not(status, 0)
  t.match(complained, /peer\.tgz: 404/)
})

t.test('what only npm can do, npm does: a proxy, a registry for a scope, no tar', { skip }, async (t) => {
  const { install, modules } = await project(t)
  const proxy = 'http://127.0.0.1:9'
  const settings = {
    npm_config_proxy: proxy,
    HTTPS_PROXY: proxy,
    'npm_config_@scope:registry': proxy,
    npm_config_bin_links: 'false'
  }
  for (const [setting, value] of Object.entries(settings)) {
    const { complained } = await install({ [setting]: value })
    t.match(complained, /^Locanda: i pacchetti li installa npm \(npm config: /, setting)
  }
  const tools = temporaryFolder(t)
  writeFileSync(join(tools, 'tar'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  const { status, complained } = await install({ PATH: `${tools}:${process.env.PATH}` })
  t.match(complained, /^Locanda: i pacchetti li installa npm \(tar: 1\)\n/)
  t.equal(status, 0)
  t.ok(existsSync(join(modules, 'a', 'package.json')))
  t.same(readdirSync(modules).filter((name) => name.startsWith('.archives')), [])
})

t.test('without a registry that answers, it ends within seconds and says so', { skip }, async (t) => {
  const { install } = await project(t)
  const { status, complained } = await install({ npm_config_registry: 'http://127.0.0.1:9/' })
  t.not(status, 0)
  t.match(complained, /^Locanda: i pacchetti li installa npm \(.*ECONNREFUSED/)
})
