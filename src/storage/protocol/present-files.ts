import type { StorageBucket } from '#schemas/storage-bucket.ts'
import type { ObjectInfo, ObjectRow, StorageEntry } from '#schemas/storage-protocol.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'
import type { BucketRow } from '../buckets.ts'

/** Supabase Storage's value for a file without `Cache-Control`. */
const NO_CACHE = 'no-cache'

/** An entry of a list, with its name in the list. An entry without a file is a folder. */
export function presentEntry (name: string, file?: StoredFile): StorageEntry {
  if (file === undefined) {
    return { name, id: null, updated_at: null, created_at: null, last_accessed_at: null, metadata: null }
  }
  const { id, object_id, size, content_type: mimetype, cache_control } = file
  const [created_at, updated_at] = [file.created_at.toISOString(), file.updated_at.toISOString()]
  return {
    name,
    id: object_id,
    updated_at,
    created_at,
    last_accessed_at: updated_at,
    metadata: {
      eTag: `"${id}"`,
      size,
      mimetype,
      cacheControl: cache_control ?? NO_CACHE,
      lastModified: updated_at,
      contentLength: size,
      httpStatusCode: 200
    }
  }
}

export function presentRow (file: StoredFile): ObjectRow {
  const owner = ownerId(file.owner)
  return {
    ...presentEntry(file.name, file),
    bucket_id: file.bucket,
    owner,
    owner_id: owner,
    version: file.id,
    user_metadata: file.metadata ?? {}
  }
}

/** The owner in the protocol: a person's id, or empty for a machine. */
function ownerId (owner: string | null): string {
  return owner?.startsWith('user:') ? owner.slice('user:'.length) : ''
}

export function presentInfo (file: StoredFile): ObjectInfo {
  const { id, object_id, name, bucket, size, content_type, cache_control, metadata, updated_at, created_at } = file
  return {
    id: object_id,
    name,
    version: id,
    bucket_id: bucket,
    size,
    content_type,
    cache_control: cache_control ?? NO_CACHE,
    etag: `"${id}"`,
    metadata: metadata ?? {},
    last_modified: updated_at.toISOString(),
    created_at: created_at.toISOString()
  }
}

export function presentBucket (bucket: BucketRow): StorageBucket {
  const { id, created_at, updated_at } = bucket
  return {
    ...bucket,
    name: id,
    owner: '',
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString()
  }
}
