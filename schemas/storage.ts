/**
 * The buckets of the product itself. Administrators may add buckets of their own through the storage protocol; these
 * five are always there and cannot be changed.
 */
export const BUCKETS = ['documents', 'avatars', 'letters', 'reports', 'public'] as const
export type Bucket = typeof BUCKETS[number]

/** What the name of a stored file is, where one is asked for. */
export const FILE_NAME = 'Il nome del file nel bucket, con le sue cartelle, separate da `/`'

/** The sides of an identity document. */
export const SIDES = ['front', 'back'] as const
export type Side = typeof SIDES[number]
