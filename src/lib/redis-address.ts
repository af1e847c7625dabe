/** A Redis server, or the sentinels that know which of several is the one to use. */
export type RedisAddress = { url: string } | {
  sentinels: { host: string, port: number }[]
  name: string
  db: number
  username: string | undefined
  password: string | undefined
  sentinelPassword: string | undefined
}

const SENTINEL = /^redis\+sentinel:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^/?@]+)\/([\w.-]+)(?:\/(\d{1,4}))?(?:\?([^\s]*))?$/
const SENTINEL_PORT = 26_379
const HOST = /^([\w.-]+|\[[\da-fA-F:.]+\])(?::(\d{1,5}))?$/

/**
 * What `REDIS_URL` names: `redis://…`, `rediss://…`, or
 * `redis+sentinel://user:password@sentinel:26379,another:26379/<name of the master>/<database>?sentinelPassword=…`.
 * @returns undefined when it has another form
 */
export function parseRedisUrl (url: string): RedisAddress | undefined {
  if (!url.startsWith('redis+sentinel:')) return URL.canParse(url) ? { url } : undefined
  const [, username, password, hosts = '', name = '', db = '0', query = ''] = SENTINEL.exec(url) ?? []
  const sentinels = hosts.split(',').map(parseHost)
  const decoded = [username, password].map(decode)
  if (name === '' || !sentinels.every((each) => each !== undefined) || decoded.includes(null)) return undefined
  return {
    sentinels,
    name,
    db: Number(db),
    username: decoded[0] ?? undefined,
    password: decoded[1] ?? undefined,
    sentinelPassword: new URLSearchParams(query).get('sentinelPassword') ?? undefined
  }
}

function parseHost (text: string): { host: string, port: number } | undefined {
  const [, host, port = String(SENTINEL_PORT)] = HOST.exec(text) ?? []
  if (host === undefined || Number(port) > 65_535) return undefined
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
}

/** Undefined: there is none; null: it is not spelled as in an address. */
function decode (text: string | undefined): string | undefined | null {
  if (text === undefined || text === '') return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
