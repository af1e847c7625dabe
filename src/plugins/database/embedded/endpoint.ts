import { createHash, randomBytes } from 'node:crypto'
import { access, chmod, chown, lstat, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownUid, type Account } from './account.ts'
import { codeOf } from './problems.ts'

/** Where a client finds the cluster. */
export interface Endpoint {
  /** Folder of the socket, or the loopback address. */
  host: string
  port: number
  password?: string
}

/** In a socket's name; nothing listens on the number. */
export const SOCKET_PORT = 5432
/** Bytes of a socket's path that every Unix takes (`sun_path` has 104 on BSD and macOS, 108 on Linux). */
const PATH_LIMIT = 103

/**
 * Subfolder of the socket folder through which URLs reach the socket. The driver (postgres.js) takes a host from a URL
 * for a path only when it decodes it, and it decodes it only when it holds a comma, port included. So the name has
 * both.
 */
const URL_ALIAS = `,:${SOCKET_PORT}`

/** The address as a `DATABASE_URL` that the driver takes as it is. */
export function urlOf ({ host, port, password }: Endpoint, user: string, database: string): string {
  const login = password === undefined ? user : `${user}:${encodeURIComponent(password)}`
  const address = host.startsWith('/')
    ? `${encodeURIComponent(`${host}/`)}${encodeURIComponent(',')}:${port}`
    : `${host}:${port}`
  return `postgres://${login}@${address}/${database}`
}

export function socketPath (folder: string, port = SOCKET_PORT): string {
  return join(folder, `.s.PGSQL.${port}`)
}

/**
 * The folder for the socket: the data folder itself, or a short private one under the temporary folder when the path
 * would be too long or the disk takes no sockets. Undefined where neither will do.
 */
export async function chooseSocketFolder (
  home: string,
  folder: string,
  account: Account | undefined
): Promise<string | undefined> {
  if (platform() === 'win32') return undefined
  const exists = await access(folder).then(
    () => true,
    () => false
  )
  if (await takesSockets(folder, exists ? folder : home)) return folder
  const uid = account?.uid ?? ownUid()
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 12)
  const short = join(tmpdir(), `locanda-${uid}-${name}`)
  return (await makePrivate(short, account)) && (await takesSockets(short, short)) ? short : undefined
}

/** Makes the way by which `urlOf` reaches the socket. */
export async function makeAlias (socketFolder: string, account: Account | undefined): Promise<void> {
  const alias = join(socketFolder, URL_ALIAS)
  await mkdir(alias, { recursive: true, mode: 0o700 })
  if (account) await chown(alias, account.uid, account.gid)
  await symlink(join('..', `.s.PGSQL.${SOCKET_PORT}`), socketPath(alias)).catch((err) => {
    if (codeOf(err) !== 'EEXIST') throw err
  })
}

/** Tried in `place`, because the folder itself may not exist before the first start. */
async function takesSockets (folder: string, place: string): Promise<boolean> {
  if (Buffer.byteLength(socketPath(join(folder, URL_ALIAS))) > PATH_LIMIT) return false
  const probe = join(place, `.probe-${randomBytes(3).toString('hex')}`)
  const server = createServer()
  const listening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(probe, () => resolve(true))
  })
  server.close()
  await rm(probe, { force: true })
  return listening
}

/** The temporary folder is everybody's: a folder that someone else made there is not ours to use. */
async function makePrivate (folder: string, account: Account | undefined): Promise<boolean> {
  await mkdir(folder, { mode: 0o700 }).catch((err) => {
    if (codeOf(err) !== 'EEXIST') throw err
  })
  const found = await lstat(folder)
  if (!found.isDirectory() || ![ownUid(), account?.uid].includes(found.uid)) return false
  if (account) await chown(folder, account.uid, account.gid)
  await chmod(folder, 0o700)
  return true
}

/** The password for loopback TCP, generated once into `file` (mode 0600). */
export async function readPassword (file: string): Promise<string> {
  await writeFile(file, randomBytes(24).toString('base64url'), { flag: 'wx', mode: 0o600 }).catch((err) => {
    if (codeOf(err) !== 'EEXIST') throw err
  })
  return readFile(file, 'utf8')
}

/** A loopback port that is free now. */
export async function freePort (): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new TypeError('no TCP address')
  return address.port
}
