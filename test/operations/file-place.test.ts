import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import type { Manifest } from '#src/operations/backup/contents.ts'
import { filePlace } from '#src/operations/backup/file-place.ts'
import { filesBackend } from '#src/plugins/storage/backends/files.ts'
import { temporaryFolder } from '#test/helper.ts'

const manifest: Manifest = {
  kind: 'manifest', created: '2026-01-01T00:00:00.000Z', masterKey: 'a', migration: 1, version: '1.0.0'
}
const OF_ANOTHER = '00000000-0000-4000-8000-000000000000'

const files = async (root: string) => (await readdir(root, { recursive: true, withFileTypes: true }))
  .filter((each) => each.isFile()).map(({ parentPath, name }) => join(parentPath, name))

t.test('a restore that was killed while it wrote its first file can be begun again', async (t) => {
  const root = temporaryFolder(t)
  await filePlace(filesBackend(root), manifest)
  const [mark] = await files(root)
  await rename(mark!, `${mark}.tmp`)
  const place = await filePlace(filesBackend(root), manifest)
  await place.settle()
  t.same(await files(root), [])
})

t.test('a place with files of another, half written ones too, takes no restore', async (t) => {
  const root = temporaryFolder(t)
  const backend = filesBackend(root)
  await backend.put(OF_ANOTHER, Readable.from([]))
  await t.rejects(filePlace(backend, manifest), { message: /non è vuoto/ })
  const [file] = await files(root)
  await rename(file!, `${file}.tmp`)
  await t.rejects(filePlace(backend, manifest), { message: /non è vuoto/ })
})
