import { constants, copyFile, mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoring } from '#src/lib/ignoring.ts'
import { syncFolder } from '#src/lib/sync-folder.ts'
import { STRETCH_BYTES } from '../encryption.ts'
import { folderOf, isId, type Backend } from './backend.ts'

/** Suffix of a file while it is being written. No id ends with it. */
const TEMPORARY = '.tmp'
const FOLDER = /^[\da-f]{2}$/
/** Does not follow a symbolic link. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW
/** For `catch`: undefined if the file does not exist. */
const absent = ignoring('ENOENT')

/**
 * Stores files in a folder as `<first two digits>/<id>`. The folder must exist, because a missing one may be an
 * unmounted volume.
 */
export function folderBackend (root: string): Backend {
  const pathOf = (id: string) => join(root, folderOf(id), id)

  return {
    async put (id, content) {
      await writeDurably(id, async (temporary) => {
        const handle = await open(temporary, 'wx', 0o600)
        try {
          for await (const piece of content) await writeAll(handle, piece)
          await handle.sync()
        } finally {
          await handle.close()
        }
      })
    },

    async get (id, range) {
      const handle = await open(pathOf(id), READ).catch(absent)
      if (!handle) return undefined
      try {
        const { size } = await handle.stat()
        const { start, end } = range ?? { start: 0, end: size - 1 }
        const content = readPart(handle, start, Math.min(end + 1, size))
        return { size, content, close: () => { closeQuietly(handle) } }
      } catch (err) {
        await handle.close()
        throw err
      }
    },

    async head (id) {
      const found = await stat(pathOf(id)).catch(absent)
      return found && { size: found.size, modified: found.mtime }
    },

    async delete (id) {
      const path = pathOf(id)
      for (const each of [path, path + TEMPORARY]) await rm(each).catch(absent)
      await syncFolder(join(root, folderOf(id))).catch(absent)
    },

    async * list (folder) {
      const folders = folder === undefined ? (await readdir(root)).filter((name) => FOLDER.test(name)) : [folder]
      for (const each of folders) yield * listFolder(each)
    },

    async copy (from, to) {
      const source = await open(pathOf(from), READ).catch(absent)
      if (!source) return false
      await source.close()
      const copied = await writeDurably(to, async (temporary) => {
        await copyFile(pathOf(from), temporary, constants.COPYFILE_EXCL)
        const handle = await open(temporary, 'r+')
        try {
          await handle.sync()
        } finally {
          await handle.close()
        }
        return true
      }).catch(absent)
      return copied ?? false
    }
  }

  async function * listFolder (folder: string) {
    for (const name of await readdir(join(root, folder)).catch(absent) ?? []) {
      const id = name.endsWith(TEMPORARY) ? name.slice(0, -TEMPORARY.length) : name
      if (!isId(id) || folderOf(id) !== folder) continue
      const found = await stat(join(root, folder, name)).catch(absent)
      if (found) yield { id, size: found.size, modified: found.mtime }
    }
  }

  /** Writes a temporary file, renames it, and syncs file and folder, so that both are durable after a power failure. */
  async function writeDurably<T> (id: string, write: (temporary: string) => Promise<T>): Promise<T> {
    const folder = join(root, folderOf(id))
    const path = pathOf(id)
    const temporary = path + TEMPORARY
    const isNew = await mkdir(folder, { mode: 0o700 }).then(() => true, ignoring('EEXIST'))
    if (isNew) await syncFolder(root)
    try {
      const written = await write(temporary)
      await rename(temporary, path)
      await syncFolder(folder)
      return written
    } catch (err) {
      await Promise.all([temporary, path].map((each) => rm(each, { force: true }).catch(() => {})))
      throw err
    }
  }
}

/** Reads a range of a file. All full chunks use the same buffer. */
async function * readPart (handle: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(Math.max(Math.min(end - start, STRETCH_BYTES), 0))
  for (let at = start; at < end;) {
    const wanted = Math.min(end - at, buffer.length)
    let read = 0
    while (read < wanted) {
      const { bytesRead } = await handle.read(buffer, read, wanted - read, at + read)
      // The file has been truncated since it was opened.
      if (bytesRead === 0) return yield buffer.subarray(0, read)
      read += bytesRead
    }
    yield buffer.subarray(0, read)
    at += read
  }
}

/** Closes after the pending read. Ignores an error, because the file was only read. */
function closeQuietly (handle: FileHandle): void {
  handle.close().catch(() => {})
}

async function writeAll (handle: FileHandle, piece: Buffer): Promise<void> {
  let written = 0
  while (written < piece.length) written += (await handle.write(piece, written)).bytesWritten
}
