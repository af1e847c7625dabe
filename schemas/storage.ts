/**
 * The built-in buckets, which always exist and cannot be changed. Administrators may add others through the storage
 * protocol.
 */
export const BUCKETS = ['documents', 'avatars', 'letters', 'reports', 'public'] as const
export type Bucket = typeof BUCKETS[number]

/** The bucket of the images of guests' documents, also scanned ones. Their names contain only ids. */
export const DOCUMENTS = 'documents' satisfies Bucket

/**
 * The bucket of cached renditions, which clients cannot name. A rendition is called `<id of its image>/<rendering>`. It
 * is discarded with its image.
 */
export const RENDITIONS = '.renditions'

/** Description of a stored file's name. */
export const FILE_NAME = 'Il nome del file nel bucket, con le sue cartelle, separate da `/`'

/** The sides of an identity document. */
export const SIDES = ['front', 'back'] as const
export type Side = typeof SIDES[number]
