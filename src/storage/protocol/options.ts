import type { StorageAccess } from '../access.ts'
import type { Files } from '../files.ts'
import type { Links } from '../links.ts'

/** What the routes of the protocol have in common. */
export interface ProtocolOptions { links: Links, access: StorageAccess, files: Files }

export const tags = ['Storage']
