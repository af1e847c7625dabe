import type { Metadata } from '#drizzle/tables/identity.ts'

/** What `app_metadata.role` may say of a person. */
export const ROLES = ['admin', 'operator', 'pending'] as const
export type Role = typeof ROLES[number]

/**
 * Whether these metadata make an administrator. Only `app_metadata`, which administrators alone write; `user_metadata`
 * is the person's own and never counts.
 */
export function isAdmin ({ role, roles }: Metadata): boolean {
  return role === 'admin' || (Array.isArray(roles) && roles.includes('admin'))
}

/**
 * Who signed up alone waits until an administrator gives them a role: guests' data are not for everybody who has an
 * e-mail address.
 */
export function isPending ({ role }: Metadata): boolean {
  return role === 'pending'
}

/**
 * The same for accounts of an external provider, whose sign-up may be open to all: who came alone cannot be told there
 * from whom an administrator made, so that only a role vouches.
 */
export function isStranger (metadata: Metadata): boolean {
  const { role, roles } = metadata
  return !isAdmin(metadata) && role !== 'operator' && !(Array.isArray(roles) && roles.includes('operator'))
}
