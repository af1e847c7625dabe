import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { temporaryFolder } from '#test/helper.ts'
import { freePort } from '#test/free-port.ts'

export const SHIPPED = fileURLToPath(new URL('../../.deploy', import.meta.url))

/** False if a program is installed, else the reason why the test is skipped. */
export function without (program: string, packageName = program): string | false {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
    ? false
    : `${program} is not here: apt-get install ${packageName}`
}

export interface Nginx {
  /** The folder of configuration, certificate and logs. */
  folder: string
  port: number
  /** The CA for the test's clients. */
  certificate: Buffer
}

/**
 * Writes the shipped nginx configuration with the test's ports, certificate and logs, and shorter timeouts.
 * @param instances the ports of the two instances
 */
export async function writeNginx (t: Test, instances: readonly [number, number]): Promise<Nginx> {
  const folder = temporaryFolder(t)
  const [port, plain] = [await freePort(), await freePort()] as [number, number]
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1',
    '-subj', '/CN=locanda.example', '-addext', 'subjectAltName=DNS:locanda.example', '-keyout', key, '-out', certificate
  ], { stdio: 'ignore' })
  const own: [shipped: string | RegExp, here: string][] = [
    ['127.0.0.1:3001', `127.0.0.1:${instances[0]}`],
    ['127.0.0.1:3002', `127.0.0.1:${instances[1]}`],
    [/listen \[::\].*\n/g, '\n'],
    ['listen 80;', `listen 127.0.0.1:${plain};`],
    ['listen 443 ', `listen 127.0.0.1:${port} `],
    ['/etc/letsencrypt/live/locanda.example/fullchain.pem', certificate],
    ['/etc/letsencrypt/live/locanda.example/privkey.pem', key],
    ['/var/log/nginx/locanda.log', join(folder, 'access.log')],
    ['keepalive_timeout 4s', 'keepalive_timeout 1s']
  ]
  const site = own.reduce((text, [shipped, here]) => {
    const written = text.replace(shipped, here)
    if (written === text) throw new Error(`nginx.conf does not contain «${String(shipped)}»`)
    return written
  }, readFileSync(join(SHIPPED, 'nginx.conf'), 'utf8'))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => {
    mkdirSync(join(folder, name))
    return `${name}_temp_path ${join(folder, name)};`
  })
  writeFileSync(join(folder, 'site.conf'), site)
  writeFileSync(join(folder, 'nginx.conf'), [
    'daemon off; worker_processes 2;', `pid ${join(folder, 'pid')}; error_log ${join(folder, 'error.log')} warn;`,
    'events { worker_connections 512; }', `http { ${temporary.join(' ')} include ${join(folder, 'site.conf')}; }`
  ].join('\n'))
  return { folder, port, certificate: readFileSync(certificate) }
}

/** Starts nginx, and stops it when the test ends. */
export async function startNginx (t: Test, { folder, port, certificate }: Nginx): Promise<void> {
  const nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' })
  const ended = once(nginx, 'exit')
  t.teardown(async () => {
    nginx.kill('SIGTERM')
    await ended
  })
  for (;;) {
    const socket = connect({ port, host: '127.0.0.1', servername: 'locanda.example', ca: certificate })
    const response = await Promise.race([once(socket, 'secureConnect').catch(() => undefined), ended])
    socket.destroy()
    if (nginx.exitCode !== null) throw new Error(readFileSync(join(folder, 'error.log'), 'utf8'))
    if (response) return
    await sleep(50)
  }
}
