import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, jsonb, pgTable, text, unique, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { bytea, instantDate } from './columns.ts'

/** The buckets: five of the product, and those that administrators have made. */
export const buckets = pgTable('buckets', {
  id: text().primaryKey(),
  /** Its files are read without credentials. */
  public: boolean().notNull().default(false),
  /** Bytes; null: the limit of the route. */
  file_size_limit: bigint({ mode: 'number' }),
  /** Null: any. */
  allowed_mime_types: text().array(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
})

/** Generations of the key that wraps the keys of the files: derived from `MASTER_KEY` and the salt. */
export const storage_keys = pgTable('storage_keys', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  salt: bytea().notNull(),
  created_at: instantDate().notNull().defaultNow()
})

/**
 * What is stored, one row a name: the rows are the truth, the files follow. A new content has a new id, so that a file
 * never changes; its id is its name on the disk, and the ETag.
 */
export const objects = pgTable('objects', {
  id: uuid().primaryKey(),
  bucket: text().notNull().references(() => buckets.id),
  /** The path within the bucket; never part of a path on the disk. */
  name: text().notNull(),
  /** The principal who stored it; null: the product itself. */
  owner: text(),
  content_type: text().notNull(),
  /** Bytes of the content, not of the encrypted file. */
  size: bigint({ mode: 'number' }).notNull(),
  cache_control: text(),
  metadata: jsonb().$type<Record<string, unknown>>(),
  key_id: integer().notNull().references(() => storage_keys.id),
  /** The key of the file, wrapped: bucket, id and owner are bound to it. */
  wrapped_key: bytea().notNull(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
}, (t) => [
  unique('objects_bucket_name').on(t.bucket, t.name),
  // Listing by prefix, whatever the collation of the database.
  index('objects_prefix').on(t.bucket, sql`${t.name} collate "C"`)
])

/** Files that no row names any more: written in the transaction that discards them, removed by a worker. */
export const discarded_files = pgTable('discarded_files', {
  id: uuid().primaryKey(),
  attempts: integer().notNull().default(0),
  next_attempt_at: instantDate().notNull().defaultNow(),
  discarded_at: instantDate().notNull().defaultNow()
}, (t) => [index('discarded_files_due').on(t.next_attempt_at)])

/**
 * Where the files of this database are: one row, whose id is the name of an empty file that stands beside them. Where
 * that is missing, the folder or S3 bucket is another one, or a volume that is not mounted.
 */
export const file_store = pgTable('file_store', {
  id: uuid().primaryKey().defaultRandom(),
  /** When the empty file was written, at the first upload. */
  adopted_at: instantDate(),
  /** When rows and files were last compared, and how many rows had no file. */
  compared_at: instantDate(),
  missing: integer()
}, () => [uniqueIndex('file_store_one').on(sql`(true)`)])
