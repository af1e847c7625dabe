import { startServer, type ServerProcess } from '#test/running-server.ts'
import type { Disturbances } from './disturbances.ts'

/** A sequence of servers, one at a time. */
export interface Lives {
  /** The current server. Undefined while none runs. */
  current: ServerProcess | undefined
  /** Number of the current server, from 1. */
  number: number
  /** Counts log lines at level error or above, by message. */
  errors: Map<string, number>
  /** Server exits that no fault caused. */
  surprises: string[]
  start (): Promise<void>
  /** Ends the server by SIGTERM or SIGKILL, and starts the next one. */
  restart (fault: 'end' | 'kill'): Promise<void>
  end (): Promise<void>
}

const ERROR = 50

/** Starts servers as in production, with this environment. */
export function createLives (environ: Record<string, string>, disturbances: Disturbances): Lives {
  /** Servers that the driver itself ends. */
  const wanted = new Set<ServerProcess>()

  async function stop (fault: 'end' | 'kill'): Promise<void> {
    const server = self.current
    if (!server) return
    wanted.add(server)
    self.current = undefined
    await server[fault]()
    for (const { level, msg } of server.lines) {
      if (Number(level) >= ERROR) self.errors.set(String(msg), (self.errors.get(String(msg)) ?? 0) + 1)
    }
    server.lines.length = 0
  }

  const self: Lives = {
    current: undefined,
    number: 0,
    errors: new Map(),
    surprises: [],
    async start () {
      const server = await startServer(environ)
      self.current = server
      self.number++
      server.ended.then((signal) => {
        if (wanted.has(server)) return
        self.current = undefined
        self.surprises.push(`server ${self.number} ended by itself (${signal ?? 'no signal'})`)
      }, () => {})
    },
    async restart (fault) {
      const over = disturbances.begin(fault)
      await stop(fault)
      await self.start()
      over()
    },
    end: () => stop('end')
  }
  return self
}
