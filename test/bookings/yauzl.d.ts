declare module 'yauzl' {
  import type { Readable } from 'node:stream'

  interface Entry { fileName: string }
  interface ZipFile {
    eachEntry (): AsyncIterable<Entry>
    openReadStreamPromise (entry: Entry): Promise<Readable>
  }
  const yauzl: { fromBufferPromise (buffer: Buffer, options: { lazyEntries: true }): Promise<ZipFile> }
  export default yauzl
}
