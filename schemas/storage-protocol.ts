import { Type, type Static } from '@sinclair/typebox'
import { Closed, Nullable, OneOf, Open } from './common.ts'
import { BUCKET, BucketName } from './storage-bucket.ts'
import { FILE_NAME } from './storage.ts'
import { Transform, transformFields } from './storage-transform.ts'

/*
 * Requests and responses in the format of Supabase Storage. Requests are open: clients send fields that this server
 * does not use.
 */

const NAME = 'ospiti/piantina.png'
const WHEN = '2026-11-21T09:30:00.000Z'
const ID = '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f'
const TOKEN = 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1cmwiOiJtYXRlcmlhbGkvcGlhbnRpbmEucG5nIn0.firma'

/** Validated by the handler, like a bucket's name. */
const FileName = Type.String({ maxLength: 2048, description: FILE_NAME, examples: [NAME] })

/** The error codes of Supabase Storage that this server uses. */
const STORAGE_ERROR_CODES = [
  'NoSuchBucket', 'NoSuchKey', 'InvalidKey', 'InvalidBucketName', 'InvalidRequest', 'InvalidMimeType', 'InvalidJWT',
  'InvalidSignature', 'InvalidRange', 'EntityTooLarge', 'KeyAlreadyExists', 'BucketAlreadyExists', 'ResourceNotEmpty',
  'FeatureNotEnabled', 'AccessDenied', 'SlowDown', 'InternalError'
] as const

export const StorageErrorBody = Closed(
  {
    statusCode: Type.String({
      description: 'Lo status dell’errore. Quello di HTTP è lo stesso per 401, 403, 416, 429, 500 e 503; per ogni ' +
        'altro, anche `404`, `409` e `413`, è 400'
    }),
    error: Type.String(),
    message: Type.String(),
    code: OneOf(STORAGE_ERROR_CODES, { description: 'Il codice, che un programma riconosce' })
  },
  {
    $id: 'ErroreStorage',
    examples: [{ statusCode: '404', error: 'not_found', message: 'Object not found', code: 'NoSuchKey' }]
  }
)
export type StorageErrorBody = Static<typeof StorageErrorBody>

export const FileParams = Closed({ bucket: BucketName, '*': FileName })
export type FileParams = Static<typeof FileParams>

/** `''` saves the file under its own name. */
const download = Type.Optional(Type.String({
  maxLength: 1024,
  description: 'Il file si scarica con questo nome, senza mostrarlo; vuoto: con il suo',
  examples: ['piantina.png']
}))
/** Sent by clients so that caches distinguish URLs. */
const cacheNonce = Type.Optional(Type.String({
  maxLength: 200, description: 'Un valore qualunque: per le cache l’indirizzo è un altro; la risposta non cambia'
}))
const token = (description: string) => Type.String({ maxLength: 8192, description, examples: [TOKEN] })

export const DownloadQuery = Open({ download, cacheNonce })
export const RenderQuery = Open({ ...transformFields, download, cacheNonce })
export type RenderQuery = Static<typeof RenderQuery>
export const LinkQuery = Open({
  token: token('Il token del link: sostituisce le credenziali, per questo file soltanto e fino alla scadenza'),
  download,
  cacheNonce
})
export const UploadLinkQuery = Open({
  token: token('Il token di POST /storage/v1/object/upload/sign/…: sostituisce le credenziali, per questo file ' +
    'soltanto, e vale un minuto')
})

export const FileContent = {
  description: 'Il contenuto del file',
  content: { '*/*': { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) } }
}
export const FilePart = { ...FileContent, description: 'La parte chiesta con Range' }

export const Uploaded = Closed({ Id: Type.String(), Key: Type.String() }, {
  examples: [{ Id: ID, Key: `${BUCKET}/${NAME}` }]
})

const expiresIn = Type.Integer({
  minimum: 1,
  description: 'Per quanti secondi il link vale: al massimo un minuto in documents, un’ora negli altri bucket del ' +
    'prodotto tranne public, 7 giorni altrove',
  examples: [60]
})

export const SignBody = Open(
  { expiresIn, transform: Type.Optional(Transform) },
  { examples: [{ expiresIn: 60 }, { expiresIn: 60, transform: { width: 200, height: 200 } }] }
)
export const SignManyBody = Open(
  { expiresIn, paths: Type.Array(FileName, { minItems: 1, maxItems: 1000 }) },
  { examples: [{ expiresIn: 60, paths: [NAME] }] }
)
export const Signed = Closed({ signedURL: Type.String() }, {
  examples: [{ signedURL: `/object/sign/${BUCKET}/${NAME}?token=${TOKEN}` }]
})
export const SignedMany = Type.Array(
  Closed({ path: Type.String(), error: Nullable(Type.String()), signedURL: Nullable(Type.String()) }),
  { examples: [[{ path: NAME, error: null, signedURL: `/object/sign/${BUCKET}/${NAME}?token=${TOKEN}` }]] }
)
export const SignedUpload = Closed({ url: Type.String(), token: Type.String() }, {
  examples: [{ url: `/object/upload/sign/${BUCKET}/${NAME}?token=${TOKEN}`, token: TOKEN }]
})

export const NoFields = Open({}, { examples: [{}] })

export const RemoveBody = Open(
  { prefixes: Type.Array(FileName, { minItems: 1, maxItems: 1000 }) },
  { examples: [{ prefixes: [NAME] }] }
)

/** Null for a folder in a list. */
const When = Nullable(Type.String({ format: 'date-time' }))
const FileFigures = Nullable(Closed({
  eTag: Type.String(),
  size: Type.Integer(),
  mimetype: Type.String(),
  cacheControl: Type.String(),
  lastModified: Type.String(),
  contentLength: Type.Integer(),
  httpStatusCode: Type.Integer()
}))
const figures = {
  eTag: `"${ID}"`,
  size: 4,
  mimetype: 'image/png',
  cacheControl: 'max-age=3600',
  lastModified: WHEN,
  contentLength: 4,
  httpStatusCode: 200
}
const entry = {
  name: Type.String(),
  id: Nullable(Type.String()),
  updated_at: When,
  created_at: When,
  last_accessed_at: When,
  metadata: FileFigures
}
const ENTRY = { name: NAME, id: ID, updated_at: WHEN, created_at: WHEN, last_accessed_at: WHEN, metadata: figures }

export const StorageEntry = Closed(entry, { $id: 'VoceStorage', examples: [ENTRY] })
export type StorageEntry = Static<typeof StorageEntry>
export const EntryList = Type.Array(Closed(entry), { examples: [[ENTRY]] })

const userMetadata = Open({}, { description: 'I metadati dati con x-metadata' })
export const ObjectRow = Closed({
  ...entry,
  bucket_id: Type.String(),
  owner: Type.String(),
  owner_id: Type.String(),
  version: Type.String(),
  user_metadata: userMetadata
})
export type ObjectRow = Static<typeof ObjectRow>
const ROW = { ...ENTRY, bucket_id: BUCKET, owner: ID, owner_id: ID, version: ID, user_metadata: {} }
export const Removed = Type.Array(ObjectRow, { examples: [[ROW]] })

export const ObjectInfo = Closed({
  id: Type.String(),
  name: Type.String(),
  version: Type.String(),
  bucket_id: Type.String(),
  size: Type.Integer(),
  content_type: Type.String(),
  cache_control: Type.String(),
  etag: Type.String(),
  metadata: userMetadata,
  last_modified: Type.String(),
  created_at: Type.String()
}, {
  examples: [{
    id: ID,
    name: NAME,
    version: ID,
    bucket_id: BUCKET,
    size: 4,
    content_type: 'image/png',
    cache_control: 'max-age=3600',
    etag: `"${ID}"`,
    metadata: {},
    last_modified: WHEN,
    created_at: WHEN
  }]
})
export type ObjectInfo = Static<typeof ObjectInfo>

export const ListV2Response = Closed({
  hasNext: Type.Boolean(),
  nextCursor: Type.Optional(Type.String()),
  folders: Type.Array(Closed({ key: Type.String(), name: Type.String() })),
  objects: Type.Array(Closed({ ...entry, key: Type.String() }))
}, {
  examples: [{
    hasNext: false,
    folders: [{ key: 'ospiti/archivio', name: 'ospiti/archivio/' }],
    objects: [{ ...ENTRY, key: NAME }]
  }]
})
export type ListV2Response = Static<typeof ListV2Response>

const transfer = {
  bucketId: BucketName,
  sourceKey: FileName,
  destinationKey: { ...FileName, description: 'Il nome nuovo, con le sue cartelle' },
  destinationBucket: Type.Optional(Nullable({ ...BucketName, description: 'Il bucket nuovo; se manca, lo stesso' }))
}
const TRANSFER = { bucketId: BUCKET, sourceKey: NAME, destinationKey: 'archivio/piantina.png' }
export const MoveBody = Open(transfer, { examples: [TRANSFER] })
export const Moved = Closed({ message: Type.String(), Id: Type.String(), Key: Type.String() }, {
  examples: [{ message: 'Successfully moved', Id: ID, Key: 'archivio/piantina.png' }]
})

export const CopyBody = Open({
  ...transfer,
  copyMetadata: Type.Optional(Type.Boolean({
    description: '`false`: con i metadati di `x-metadata` e di `metadata`, al posto di quelli del file'
  })),
  metadata: Type.Optional(Open({
    cacheControl: Type.Optional(Type.String({ maxLength: 100 })),
    mimetype: Type.Optional(Type.String({ maxLength: 1000 }))
  }, { description: 'Con `copyMetadata` false: il Cache-Control e il tipo della copia; se mancano, quelli del file' }))
}, { examples: [TRANSFER] })
export type CopyBody = Static<typeof CopyBody>
export const Copied = Closed({ Id: Type.String(), Key: Type.String(), ...ObjectRow.properties }, {
  examples: [{ Id: ID, Key: `${BUCKET}/archivio/piantina.png`, ...ROW }]
})

/** @param message the protocol's success message */
export const Done = (message: string) => Closed({ message: Type.String() }, { examples: [{ message }] })
