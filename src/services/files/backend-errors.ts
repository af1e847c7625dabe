import type { FastifyBaseLogger } from 'fastify'
import { SpazioEsaurito } from '#src/lib/errors.ts'
import { isDiskFull } from '#src/database/problems.ts'
import type { Backend } from './backends/backend.ts'
import { ArchivioNonDisponibile } from './errors.ts'

/** Maps backend errors to errors of the catalogue, and logs the cause. Rethrows errors of the content stream. */
export function mapBackendErrors (backend: Backend, log: FastifyBaseLogger): Backend {
  function refuse (err: unknown, act: string): never {
    if (isDiskFull(err)) throw new SpazioEsaurito()
    log.error({ err, act }, 'the file backend failed')
    throw new ArchivioNonDisponibile({ cause: err })
  }

  async function * read (content: AsyncIterable<Buffer>, isClosed: () => boolean): AsyncGenerator<Buffer> {
    try {
      yield * content
    } catch (err) {
      // After `close` no reader uses the file any more, so the error is not logged.
      if (isClosed()) throw err
      refuse(err, 'read')
    }
  }

  return {
    async put (id, content) {
      const failures: unknown[] = []
      try {
        await backend.put(id, noting(content, failures))
      } catch (err) {
        if (failures.length > 0) throw failures[0]
        refuse(err, 'put')
      }
    },
    async get (id, range) {
      const opened = await backend.get(id, range).catch((err) => refuse(err, 'get'))
      if (!opened) return undefined
      let isClosed = false
      return {
        size: opened.size,
        content: read(opened.content, () => isClosed),
        close () {
          isClosed = true
          opened.close()
        }
      }
    },
    head: (id) => backend.head(id).catch((err) => refuse(err, 'head')),
    delete: (id) => backend.delete(id).catch((err) => refuse(err, 'delete')),
    copy: (from, to) => backend.copy(from, to).catch((err) => refuse(err, 'copy')),
    async * list (folder) {
      try {
        yield * backend.list(folder)
      } catch (err) {
        refuse(err, 'list')
      }
    }
  }
}

async function * noting (content: AsyncIterable<Buffer>, failures: unknown[]): AsyncGenerator<Buffer> {
  try {
    yield * content
  } catch (err) {
    failures.push(err)
    throw err
  }
}
