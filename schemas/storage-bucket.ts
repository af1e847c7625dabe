import { Type, type Static, type TProperties } from '@sinclair/typebox'
import { Closed, Nullable, OneOf, Open } from './common.ts'
import { limit, offset, order } from './storage-listing.ts'

/* Buckets in the format of Supabase Storage. */

export const BUCKET = 'materiali'
const WHEN = '2026-11-21T09:30:00.000Z'

/** The handler validates it and answers in the protocol's format. Longer names are rejected here. */
export const BucketName = Type.String({
  maxLength: 200, description: 'Il nome del bucket, come lo dà GET /storage/v1/bucket', examples: [BUCKET]
})
export const BucketParams = Closed({ bucket: BucketName })

const bucketFields = {
  public: Type.Optional(Type.Boolean({ description: '`true`: chiunque ne legge i file' })),
  /** In bytes, or a text such as `10MB`. */
  file_size_limit: Type.Optional(Type.Unsafe<number | string | null>({
    type: ['integer', 'string', 'null'],
    minimum: 0,
    maxLength: 20,
    examples: ['10MB'],
    description: 'Byte di un file al massimo, o un testo come `10MB`, non più del limite del server; null: quello'
  })),
  allowed_mime_types: Type.Optional(Type.Unsafe<string[] | null>({
    type: ['array', 'null'],
    items: Type.String({ maxLength: 1000, examples: ['image/png'] }),
    maxItems: 100,
    description: 'I soli tipi di file ammessi, anche come `image/*`; null o vuoto: tutti'
  }))
} satisfies TProperties

export const BucketCreation = Open(
  {
    name: { ...BucketName, description: 'Il nome: lettere e cifre ASCII, `.`, `_` e `-`, al massimo 100' },
    id: Type.Optional({ ...BucketName, description: 'Lo stesso che name' }),
    type: Type.Optional(OneOf(['STANDARD', 'ANALYTICS'], { description: 'Solo `STANDARD`; `ANALYTICS` è rifiutato' })),
    ...bucketFields
  },
  { examples: [{ id: BUCKET, name: BUCKET, public: false }] }
)
export const BucketUpdate = Open(bucketFields, { examples: [{ public: true }] })
export type BucketUpdate = Static<typeof BucketUpdate>

export const BucketListQuery = Open({
  limit: Type.Optional(limit('tutti')),
  offset,
  sortColumn: Type.Optional(OneOf(['id', 'name', 'created_at', 'updated_at'], {
    description: 'Secondo che cosa si ordina; se manca, `name`, che è lo stesso che `id`'
  })),
  sortOrder: Type.Optional(order),
  search: Type.Optional(Type.String({
    maxLength: 200, description: 'Testo che sta nel nome, senza badare alle maiuscole'
  }))
})
export type BucketListQuery = Static<typeof BucketListQuery>

const bucket = {
  id: Type.String(),
  name: Type.String(),
  owner: Type.String(),
  public: Type.Boolean(),
  file_size_limit: Nullable(Type.Integer()),
  allowed_mime_types: Type.Unsafe<string[] | null>({ type: ['array', 'null'], items: { type: 'string' } }),
  created_at: Type.String(),
  updated_at: Type.String()
}
const BUCKET_ROW = {
  id: BUCKET,
  name: BUCKET,
  owner: '',
  public: false,
  file_size_limit: null,
  allowed_mime_types: null,
  created_at: WHEN,
  updated_at: WHEN
}
export const StorageBucket = Closed(bucket, { $id: 'BucketStorage', examples: [BUCKET_ROW] })
export type StorageBucket = Static<typeof StorageBucket>
export const BucketList = Type.Array(Closed({ ...bucket, type: Type.String() }), {
  examples: [[{ ...BUCKET_ROW, type: 'STANDARD' }]]
})
export const BucketMade = Closed({ name: Type.String() }, { examples: [{ name: BUCKET }] })
