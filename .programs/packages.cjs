'use strict'
/*
 * Installs what a lock file names, as `npm ci --ignore-scripts` does, in less than half of its time: the archives are
 * fetched side by side, compared with the lock file's sums and unpacked by `tar`, where npm does everything in one
 * thread. Whatever is out of the ordinary (a proxy, a password, no `tar`, an archive that cannot be had or
 * is another than the lock file's) is left to npm, which begins again.
 *
 *   node .programs/packages.cjs FOLDER [--exclude=PATTERN …]
 *
 * What a pattern names, as `tar` understands it, would be removed after the installation: it is not even unpacked.
 */
const { spawn, spawnSync } = require('node:child_process')
const { createHash } = require('node:crypto')
const { once } = require('node:events')
const { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require('node:fs')
const http = require('node:http')
const https = require('node:https')
const { cpus } = require('node:os')
const { join, posix, relative, resolve } = require('node:path')
const { argv, arch, env, exit, platform, report, stderr, stdout } = require('node:process')
const tls = require('node:tls')

/** The host in a lock file's addresses, which stands for the configured registry (.npmrc). */
const NO_HOST = 'https://registry.invalid/'
/** Requests at a time: what waits for the network leaves the processor to what unpacks. */
const REQUESTS = 12
/** Certificates are verified, whatever the environment says. */
const AGENT = { keepAlive: true, maxSockets: REQUESTS, rejectUnauthorized: true }
/** How long the registry may send nothing. */
const SILENT_MS = 15_000
/** Unpacks what is named to it, an archive and its folder at a time, with its arguments. After a failure it ends. */
const UNPACK = `while IFS= read -r archive && IFS= read -r folder
do tar -xzf "$archive" -C "$folder" --strip-components=1 --no-same-owner --no-same-permissions "$@" || exit; done`
/**
 * What GNU's tar is told, and no other knows: to give folders their modes when all is unpacked, because some archives
 * have folders that nobody may enter, and to keep quiet about notes of those who have packed.
 */
const GNU = ['--delay-directory-restore', '--warning=no-unknown-keyword']
/** Settings of npm that are npm's to follow. */
const FOR_NPM = /^(proxy|https-proxy|ca|cert|key|offline|prefer-offline|include|os|cpu|libc|dry-run)$|:registry$/
/** Of the environment, which npm follows, too. */
const PROXY = /^(https?_|all_)?proxy$/i

const folder = resolve(argv[2])
// A report takes long.
const libcOfThisSystem = report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'
const modules = join(folder, 'node_modules')
const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))

main().catch((err) => {
  if (err.code === 'ENOSPC') {
    stderr.write('Locanda: il disco è pieno\n')
    exit(1)
  }
  stderr.write(`Locanda: i pacchetti li installa npm (${err.message})\n`)
  const options = { stdio: 'inherit', shell: platform === 'win32' }
  exit(spawnSync('npm', ['ci', '--prefix', folder, '--ignore-scripts'], options).status ?? 1)
})

async function main () {
  const begun = Date.now()
  const settings = npmSettings()
  const registry = registryOf(settings)
  const wanted = wantedPackages(settings.omit.includes('dev'))
  rmSync(modules, { recursive: true, force: true })
  mkdirSync(modules)
  const archives = mkdtempSync(join(modules, '.archives-'))
  const isGnu = spawnSync('tar', ['--version'], { encoding: 'utf8' }).stdout?.includes('GNU')
  const options = [...isGnu ? GNU : [], ...argv.slice(3)]
  const unpackers = Array.from({ length: Math.min(4, cpus().length) }, () => startUnpacker(options))
  try {
    const queue = wanted.entries()
    await Promise.all(Array.from({ length: REQUESTS }, async () => {
      for (const [index, path] of queue) {
        const archive = join(archives, String(index))
        writeFileSync(archive, await fetched(packages[path], registry))
        const into = join(folder, path)
        mkdirSync(into, { recursive: true })
        unpackers[index % unpackers.length].stdin.write(`${archive}\n${into}\n`)
      }
    }))
    await Promise.all(unpackers.map(ended))
  } finally {
    for (const unpacker of unpackers) unpacker.kill()
    registry.agent.destroy()
    rmSync(archives, { recursive: true, force: true })
  }
  for (const path of wanted) linkPrograms(path)
  // Archives hold files that their owner alone may read.
  if (spawnSync('chmod', ['-R', 'u+w,a+rX', modules]).status !== 0) throw new Error('chmod')
  stdout.write(`Locanda: ${wanted.length} pacchetti in ${((Date.now() - begun) / 1000).toFixed(1)} s\n`)
}

/** What npm is configured for. */
function npmSettings () {
  const { error, stdout } = spawnSync('npm', ['config', 'list', '--json'], { cwd: folder, encoding: 'utf8' })
  if (error) throw error
  const settings = JSON.parse(stdout)
  const special = Object.keys(settings).filter((name) => FOR_NPM.test(name) && isSet(settings[name]))
  for (const name of ['strict-ssl', 'bin-links']) if (settings[name] === false) special.push(name)
  special.push(...Object.keys(env).filter((name) => PROXY.test(name) && env[name]))
  if (settings.omit.some((kind) => kind !== 'dev')) special.push('omit')
  if (special.length > 0) throw new Error(`npm config: ${special.join(', ')}`)
  return settings
}

function isSet (value) {
  return Array.isArray(value) ? value.length > 0 : Boolean(value)
}

/** The registry: its address, with a slash at its end, and how requests reach it. */
function registryOf ({ registry, cafile }) {
  const address = registry.replace(/\/?$/, '/')
  const { get, Agent } = address.startsWith('https:') ? https : http
  // Read once for all connections.
  const secureContext = cafile ? tls.createSecureContext({ ca: readFileSync(cafile) }) : undefined
  return { address, get, agent: new Agent({ ...AGENT, secureContext }) }
}

/**
 * The places (`node_modules/a/node_modules/b`) of the packages that are wanted on this system. What only a package for
 * other systems wants is left out with it.
 */
function wantedPackages (omitsDevelopment) {
  const wanted = new Set()
  const { dependencies, optionalDependencies, devDependencies } = packages['']
  const queue = [['', { ...dependencies, ...optionalDependencies, ...omitsDevelopment ? {} : devDependencies }]]
  for (const [from, names] of queue) {
    for (const name of Object.keys(names)) {
      const path = placeOf(name, from)
      if (path === undefined || wanted.has(path) || !isForThisSystem(packages[path])) continue
      wanted.add(path)
      const { dependencies, optionalDependencies, peerDependencies } = packages[path]
      queue.push([path, { ...dependencies, ...optionalDependencies, ...peerDependencies }])
    }
  }
  return [...wanted].sort()
}

/** Where Node finds a package of this name from another's place; undefined for an optional one that is not there. */
function placeOf (name, from) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const path = posix.join(at, 'node_modules', name)
    if (packages[path]) return path
    if (at === '') return undefined
  }
}

function isForThisSystem ({ os, cpu, libc }) {
  const fits = (names, own) => {
    const list = [names ?? own].flat()
    return list.includes(own) || list.some((name) => name[0] === '!' && name !== `!${own}`)
  }
  return fits(os, platform) && fits(cpu, arch) && (platform !== 'linux' || fits(libc, libcOfThisSystem))
}

/** An archive, once it is known to be the lock file's. */
async function fetched ({ resolved, integrity }, { address, get, agent }) {
  if (!resolved?.startsWith(NO_HOST)) throw new Error(`not from a registry: ${resolved}`)
  const name = resolved.slice(NO_HOST.length)
  const request = get(address + name, { agent })
  // In the middle of an answer it is the answer that has the error, too.
  request.on('error', () => {})
  request.setTimeout(SILENT_MS, () => request.destroy(new Error(`${name}: no answer`)))
  const [response] = await once(request, 'response')
  if (response.statusCode !== 200) throw new Error(`${name}: ${response.statusCode}`)
  const pieces = []
  response.on('data', (piece) => pieces.push(piece))
  await once(response, 'end')
  const archive = Buffer.concat(pieces)
  const sum = `sha512-${createHash('sha512').update(archive).digest('base64')}`
  if (sum !== integrity) throw new Error(`${name}: another archive than the lock file's`)
  return archive
}

function startUnpacker (options) {
  const unpacker = spawn('sh', ['-c', UNPACK, 'sh', ...options], { stdio: ['pipe', 'ignore', 'inherit'] })
  // Writing to it after its end is an error; its exit code tells of the failure.
  unpacker.stdin.on('error', () => {})
  unpacker.ended = once(unpacker, 'close')
  unpacker.ended.catch(() => {})
  return unpacker
}

async function ended (unpacker) {
  unpacker.stdin.end()
  const [code] = await unpacker.ended
  if (code !== 0) throw new Error(`tar: ${code}`)
}

/** In `.bin` beside the package, as npm makes them. */
function linkPrograms (path) {
  const bin = join(folder, path.slice(0, path.lastIndexOf('node_modules/')), 'node_modules', '.bin')
  for (const [name, file] of Object.entries(packages[path].bin ?? {})) {
    const program = join(folder, path, file)
    chmodSync(program, 0o755)
    mkdirSync(bin, { recursive: true })
    symlinkSync(relative(bin, program), join(bin, name))
  }
}
