import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, jsonb, pgTable, text, unique, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { bytea, instantDate } from './columns.ts'

/** Buckets: five built-in ones and those created by administrators. */
export const buckets = pgTable('buckets', {
  id: text().primaryKey(),
  /** Public buckets are readable without credentials. */
  public: boolean().notNull().default(false),
  /** In bytes. Null: the limit of the route. */
  file_size_limit: bigint({ mode: 'number' }),
  /** Null: any type. */
  allowed_mime_types: text().array(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
})

/** Generations of the wrapping key, derived from `MASTER_KEY` and the salt. */
export const storage_keys = pgTable('storage_keys', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  salt: bytea().notNull(),
  created_at: instantDate().notNull().defaultNow()
})

/**
 * Stored objects, one row a name. Rows are authoritative, and files follow them. New content gets a new id, so that a
 * file never changes. The id is the file name and the ETag. When it changes, a trigger discards the previous file.
 */
export const objects = pgTable('objects', {
  id: uuid().primaryKey(),
  /** Identifies the name for clients of the storage protocol. It stays when the content is replaced. */
  object_id: uuid().notNull().defaultRandom(),
  bucket: text().notNull().references(() => buckets.id),
  /** The path in the bucket. Never part of a path on disk. */
  name: text().notNull(),
  /** The principal who stored it. Null: the server itself. */
  owner: text(),
  content_type: text().notNull(),
  /** Size of the content, not of the encrypted file. */
  size: bigint({ mode: 'number' }).notNull(),
  cache_control: text(),
  metadata: jsonb().$type<Record<string, unknown>>(),
  key_id: integer().notNull().references(() => storage_keys.id),
  /** The file's key, wrapped. Bucket, id and owner are its associated data. */
  wrapped_key: bytea().notNull(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
}, (t) => [
  unique('objects_bucket_name').on(t.bucket, t.name),
  // Prefix listing, independent of the database's collation.
  index('objects_prefix').on(t.bucket, sql`${t.name} collate "C"`)
])

/** Tombstones of files without a row: inserted in the transaction that discards them. A worker deletes the files. */
export const discarded_files = pgTable('discarded_files', {
  id: uuid().primaryKey(),
  attempts: integer().notNull().default(0),
  next_attempt_at: instantDate().notNull().defaultNow(),
  discarded_at: instantDate().notNull().defaultNow()
}, (t) => [index('discarded_files_due').on(t.next_attempt_at)])

/**
 * Identifies this database's file backend: one row, whose id is the name of an empty marker file. If that is missing,
 * the folder or bucket is another one, or a volume that is not mounted.
 */
export const file_store = pgTable('file_store', {
  id: uuid().primaryKey().defaultRandom(),
  /** When the marker file was written, with the first upload. */
  adopted_at: instantDate(),
  /** Last comparison of rows and files, and its number of missing files. */
  compared_at: instantDate(),
  missing: integer()
}, () => [uniqueIndex('file_store_one').on(sql`(true)`)])
