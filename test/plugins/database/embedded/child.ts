import process from 'node:process'
import { startEmbedded } from '#src/plugins/database/embedded/cluster.ts'

/*
 * A server process as far as the cluster goes: `child.ts DATA_DIR [tcp]`. Speaks one JSON line when the cluster is
 * there, leaves it and ends when a line comes in on stdin.
 */
const [dataDir = '', mode] = process.argv.slice(2)
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const begun = performance.now()
try {
  const cluster = await startEmbedded({ dataDir, tcp: mode === 'tcp', log: (message) => say({ log: message }) })
  say({
    ready: true,
    owned: cluster.owned,
    url: cluster.url,
    connection: cluster.connection,
    ms: Math.round(performance.now() - begun)
  })
  process.stdin.once('data', () => {
    void cluster.stop().then(() => process.exit(0))
  })
} catch (err) {
  say({ error: err instanceof Error ? err.message : String(err) })
  process.exit(1)
}
