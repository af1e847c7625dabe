'use strict'
/*
 * Writes into the lock files where each package is found. Without an address npm asks the registry for every package's
 * list of versions first, which takes a third of an installation; with one, it would name a registry. Therefore the
 * addresses have a host that cannot exist (RFC 2606), in whose place npm puts the configured registry (.npmrc).
 */
const { readFileSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

for (const folder of ['.', '.programs']) {
  const path = join(__dirname, '..', folder, 'package-lock.json')
  const lock = JSON.parse(readFileSync(path, 'utf8'))
  for (const [place, { version, resolved: _, ...rest }] of Object.entries(lock.packages)) {
    if (place === '') continue
    const name = rest.name ?? place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const file = `${name.slice(name.lastIndexOf('/') + 1)}-${version}.tgz`
    lock.packages[place] = { version, resolved: `https://registry.invalid/${name}/-/${file}`, ...rest }
  }
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
}
