import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyDatabase } from './data.ts'
import { atLeast, interleaved, type BenchResult } from './harness.ts'
import { API_KEY, startLocanda, startStatic, temporaryFolder } from './process.ts'

/** Size of a phone photo. */
const BYTES = 2 * 1024 * 1024
/** Number of downloads per round, and of concurrent ones. */
const DOWNLOADS = 24
const PARALLEL = 8

/** Compares downloads of encrypted files with `@fastify/static`, which sends the same bytes unencrypted. */
export async function downloads (clusterUrl: string): Promise<BenchResult[]> {
  const folders = { ours: temporaryFolder(), peer: temporaryFolder() }
  const image = randomBytes(BYTES)
  writeFileSync(join(folders.peer, 'foto.jpg'), image)
  const databaseUrl = await emptyDatabase(clusterUrl, 'bench_files')
  const ours = await startLocanda({ dataDir: folders.ours, databaseUrl })
  const peer = await startStatic(folders.peer)
  try {
    const stored = await fetch(`${ours.url}/storage/v1/object/public/foto.jpg`, {
      method: 'POST', headers: { 'x-api-key': API_KEY, 'content-type': 'image/jpeg' }, body: image
    })
    if (!stored.ok) throw new Error(await stored.text())
    return [atLeast(0.5, await interleaved(
      'image of 2 MB, decrypted, throughput against @fastify/static',
      () => download(`${ours.url}/api/storage/public/foto.jpg`),
      () => download(`${peer.url}/foto.jpg`)
    ))]
  } finally {
    await ours.stop()
    await peer.stop()
    for (const folder of Object.values(folders)) rmSync(folder, { recursive: true })
  }
}

async function download (url: string): Promise<void> {
  let left = DOWNLOADS
  await Promise.all(Array.from({ length: PARALLEL }, async () => {
    while (left-- > 0) {
      const response = await fetch(url, { headers: { 'x-api-key': API_KEY } })
      const { byteLength } = await response.arrayBuffer()
      if (byteLength !== BYTES) throw new Error(`${response.status}, ${byteLength} bytes`)
    }
  }))
}
