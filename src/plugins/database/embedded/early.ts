import { startEmbedded, type EmbeddedCluster } from './cluster.ts'
import type { Log } from './problems.ts'

/** An embedded cluster whose start began before there was a server. */
export interface EarlyCluster {
  /** Resolves when initdb has been started, which needs no time of this process, or when the start has ended. */
  isUnderWay: Promise<unknown>
  /**
   * Hands it to the server.
   * @param log gets what was said so far, and what is said from now on
   * @throws EmbeddedError, as `startEmbedded`
   */
  claim (log: Log): Promise<EmbeddedCluster>
  /** For a start that fails before there is a server: stops the cluster, unless it was claimed. */
  abandon (): Promise<void>
}

/** Begins to start the embedded cluster: while a new one is being made, the program is loaded. */
export function startEarly (dataDir: string): EarlyCluster {
  const said: string[] = []
  let log: Log = (message) => { said.push(message) }
  let isClaimed = false
  const made = Promise.withResolvers<void>()
  const started = startEmbedded({ dataDir, log: (message) => log(message), whenMaking: made.resolve })
  // A failure reaches the caller of `claim`.
  const settled = started.catch(() => undefined)
  return {
    isUnderWay: Promise.race([made.promise, settled]),
    claim (to) {
      isClaimed = true
      log = to
      for (const message of said.splice(0)) log(message)
      return started
    },
    async abandon () {
      if (!isClaimed) await (await settled)?.stop()
    }
  }
}
