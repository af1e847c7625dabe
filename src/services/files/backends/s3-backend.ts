import { Readable } from 'node:stream'
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import type { Config } from '#src/config/config.ts'
import { folderOf, isId, type Backend, type FileFacts } from './backend.ts'

interface S3Settings {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}

/** The settings of S3. Undefined if files are in `DATA_DIR`. The configuration has either all settings or none. */
export function s3Settings (config: Config): S3Settings | undefined {
  if (config.S3_ENDPOINT === undefined) return undefined
  return {
    endpoint: config.S3_ENDPOINT,
    bucket: config.S3_BUCKET!,
    region: config.S3_REGION ?? 'us-east-1',
    accessKeyId: config.S3_ACCESS_KEY_ID!,
    secretAccessKey: config.S3_SECRET_ACCESS_KEY!
  }
}

/** Timeout of a connection, in milliseconds. */
const CONNECT_MS = 5000
/** Timeout of one part of an upload. A part may be slow, and is sent at most twice. */
const PART_MS = 30_000
const ATTEMPTS = 2

interface S3Timeouts {
  /** Milliseconds until the start of the response, including retries. Does not apply to uploads. */
  responseMs: number
  /** Maximum milliseconds between two chunks of a file. */
  silenceMs: number
}

/** With these timeouts a caller who waits for a file gets a response within half a minute. */
const TIMEOUTS: S3Timeouts = { responseMs: 20_000, silenceMs: 20_000 }

/**
 * Stores files in an S3 bucket under `<first two digits>/<id>`. When S3 responds, the file is durable. The SDK loads
 * slowly, so it is loaded with the first file.
 */
export function s3Backend ({ bucket: Bucket, ...settings }: S3Settings, timeouts = TIMEOUTS): Backend {
  let loaded: ReturnType<typeof load> | undefined
  const load = async () => {
    const [sdk, { Upload }] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')])
    return { sdk, Upload, client: new sdk.S3Client(clientConfig(settings, timeouts)) }
  }
  const opened = () => (loaded ??= load())

  return {
    async put (id, content) {
      const { client, Upload } = await opened()
      // Multipart upload, because the length is unknown. Content that fits into one part is sent in one request.
      const params = { Bucket, Key: keyOf(id), Body: Readable.from(content, { objectMode: false }) }
      await new Upload({ client, params, queueSize: 1 }).done()
    },

    async get (id, range) {
      const { client, sdk } = await opened()
      const Range = range && `bytes=${range.start}-${range.end}`
      const response = await inTime((abortSignal) =>
        client.send(new sdk.GetObjectCommand({ Bucket, Key: keyOf(id), Range }), { abortSignal }))
      if (!response) return undefined
      const total = response.ContentRange?.split('/')[1] ?? response.ContentLength
      const content = response.Body as Readable
      return { content, size: Number(total), close: () => { content.destroy() } }
    },

    async head (id) {
      const { client, sdk } = await opened()
      const found = await inTime((abortSignal) =>
        client.send(new sdk.HeadObjectCommand({ Bucket, Key: keyOf(id) }), { abortSignal }))
      return found && { size: found.ContentLength!, modified: found.LastModified! }
    },

    async delete (id) {
      const { client, sdk } = await opened()
      const Key = keyOf(id)
      await client.send(new sdk.DeleteObjectCommand({ Bucket, Key }))
      for await (const { UploadId } of uploads(client, sdk, Key)) {
        await ifThere(client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })))
      }
    },

    async * list (folder) {
      const { client, sdk } = await opened()
      const Prefix = folder === undefined ? undefined : `${folder}/`
      for await (const { Contents = [] } of sdk.paginateListObjectsV2({ client }, { Bucket, Prefix })) {
        for (const { Key, Size, LastModified } of Contents) {
          const id = idOf(Key!)
          if (id !== undefined) yield { id, size: Size!, modified: LastModified! }
        }
      }
      for await (const { Key, Initiated } of uploads(client, sdk, Prefix)) {
        const id = idOf(Key!)
        if (id !== undefined) yield { id, size: 0, modified: Initiated! } satisfies FileFacts & { id: string }
      }
    },

    async copy (from, to) {
      const { client, sdk } = await opened()
      const CopySource = `${Bucket}/${keyOf(from)}`
      const copied = await inTime((abortSignal) =>
        client.send(new sdk.CopyObjectCommand({ Bucket, Key: keyOf(to), CopySource }), { abortSignal }))
      return copied !== undefined
    }
  }

  /** Runs a request with a timeout, which does not include the body. Undefined if the file does not exist. */
  async function inTime<T> (ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const end = new AbortController()
    const timer = setTimeout(() => end.abort(), timeouts.responseMs)
    try {
      return await ifThere(ask(end.signal))
    } finally {
      clearTimeout(timer)
    }
  }

  /** Lists uploads that are in progress or were abandoned. */
  async function * uploads (client: S3Client, sdk: Awaited<ReturnType<typeof load>>['sdk'], Prefix?: string) {
    let KeyMarker: string | undefined
    let UploadIdMarker: string | undefined
    do {
      const command = new sdk.ListMultipartUploadsCommand({ Bucket, Prefix, KeyMarker, UploadIdMarker })
      const { Uploads = [], IsTruncated, NextKeyMarker, NextUploadIdMarker } = await client.send(command)
      yield * Uploads
      KeyMarker = IsTruncated ? NextKeyMarker : undefined
      UploadIdMarker = NextUploadIdMarker
    } while (KeyMarker !== undefined)
  }
}

function clientConfig (
  { endpoint, region, accessKeyId, secretAccessKey }: Omit<S3Settings, 'bucket'>,
  { silenceMs }: S3Timeouts
): S3ClientConfig {
  return {
    endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    // Puts the bucket into the path, because only large services have a host name for each bucket.
    forcePathStyle: true,
    // Servers other than Amazon's reject the SDK's default checksums, or store them in the file.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: PART_MS,
      throwOnRequestTimeout: true,
      // Also limits the time between two chunks of a response, and the time of a stalled upload.
      socketTimeout: silenceMs
    }
  }
}

function keyOf (id: string): string {
  return `${folderOf(id)}/${id}`
}

/** The file id in an S3 key. Undefined if the key has another form. */
function idOf (key: string): string | undefined {
  const id = key.slice(key.indexOf('/') + 1)
  return isId(id) && key === keyOf(id) ? id : undefined
}

/** The result of a request. Undefined if the file does not exist. */
async function ifThere<T> (work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (err) {
    if (isMissing(err)) return undefined
    throw err
  }
}

/** A missing bucket is not a missing file. */
function isMissing (err: unknown): boolean {
  return err instanceof Error && ['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes(err.name)
}
