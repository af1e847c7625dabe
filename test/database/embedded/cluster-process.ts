import process from 'node:process'
import { startEmbedded } from '#src/database/embedded/cluster.ts'

/*
 * Acts as a server or a tool on the cluster: `cluster-process.ts DATA_DIR server|tool [tcp]`. It writes one JSON line
 * when the cluster runs, and exits when it reads a line from stdin. Without arguments it only loads modules, to show
 * that its user can read them.
 */
const [dataDir, kind, mode] = process.argv.slice(2)
if (dataDir === undefined) process.exit(0)
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
try {
  const cluster = await startEmbedded({
    dataDir, isServer: kind === 'server', log: (log) => say({ log }), ...mode === 'tcp' && { tcp: true }
  })
  say({ url: cluster.url })
  process.stdin.once('data', () => {
    void cluster.stop().then(() => process.exit(0))
  })
} catch (err) {
  say({ error: err instanceof Error ? err.message : String(err) })
  process.exit(1)
}
