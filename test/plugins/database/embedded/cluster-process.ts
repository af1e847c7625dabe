import process from 'node:process'
import { startEmbedded } from '#src/plugins/database/embedded/cluster.ts'

/*
 * A server process as far as the cluster goes: `cluster-process.ts DATA_DIR [tcp]`. It writes one JSON line when the
 * cluster runs; it leaves the cluster and ends when a line comes in on stdin. Without arguments it only loads the
 * modules, which shows that its user can read them.
 */
const [dataDir, mode] = process.argv.slice(2)
if (dataDir === undefined) process.exit(0)
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
