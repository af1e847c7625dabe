import type { Metadata } from '#drizzle/tables/index.ts'

/** What `app_metadata.role` may say of a person. */
export const ROLES = ['admin', 'operator', 'pending'] as const
export type Role = typeof ROLES[number]

/**
 * Whether these metadata make an administrator. Only `app_metadata`, which administrators alone write; `user_metadata` is the
 * person's own and never counts.
 */
export function isAdmin ({ role, roles }: Metadata): boolean {
  return role === 'admin' || (Array.isArray(roles) && roles.includes('admin'))
}

/** Who signed up alone waits until an administrator gives them a role: guests' data are not for everybody who has an e-mail address. */
export function isPending ({ role }: Metadata): boolean {
  return role === 'pending'
}
