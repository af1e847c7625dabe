import type { PassThrough, Readable } from 'node:stream'
import { ZipFile } from 'yazl'
import type { ExportFile } from '../holdings.ts'

/**
 * Files as a ZIP archive, made while it is read: one file is open at a time. What fails ends the stream with it, so
 * that an archive that lacks something is never taken for a whole one.
 */
export function archive (files: readonly ExportFile[]): Readable {
  const zip = new ZipFile()
  const out = zip.outputStream as PassThrough
  const fail = (err: unknown) => { out.destroy(err instanceof Error ? err : new Error('a file cannot be read')) }
  zip.on('error', fail)
  for (const { path, changed: mtime, content } of files) {
    if (Buffer.isBuffer(content)) {
      zip.addBuffer(content, path, { mtime })
      continue
    }
    // Images are as small as they get.
    zip.addReadStreamLazy(path, { mtime, compress: false, size: content.bytes }, (pump) => {
      content.open().then((stream) => {
        // Its failure does not reach the archive by itself.
        stream.once('error', fail)
        // A caller who goes leaves no file open.
        if (out.destroyed) stream.destroy()
        const leave = () => { stream.destroy() }
        out.once('close', leave)
        stream.once('close', () => { out.off('close', leave) })
        pump(null, stream)
      }, fail)
    })
  }
  zip.end()
  return out
}
