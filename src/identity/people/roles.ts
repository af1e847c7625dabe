import type { Metadata } from '#drizzle/tables/identity.ts'

/** What `app_metadata.role` may say of a person. */
export type Role = 'admin' | 'operator' | 'pending'

/**
 * Whether these metadata make an administrator. Only `app_metadata` count, which only administrators write, never
 * `user_metadata`, which the person writes.
 */
export function isAdmin ({ role, roles }: Metadata): boolean {
  return role === 'admin' || (Array.isArray(roles) && roles.includes('admin'))
}

/** Whether these are the metadata of an operator or an administrator. `isStaffRow` is the same condition in SQL. */
export function isStaff (metadata: Metadata): boolean {
  return isAdmin(metadata) || metadata.role === 'operator'
}

/**
 * A person who has signed up without an administrator waits until an administrator gives them a role: an e-mail address
 * alone must not give access to guests' data.
 */
export function isPending ({ role }: Metadata): boolean {
  return role === 'pending'
}

/**
 * The same for accounts of an external provider, whose sign-up may be open to all. Its accounts do not say whether an
 * administrator made them: only a role gives access.
 */
export function lacksRole (metadata: Metadata): boolean {
  const { role, roles } = metadata
  return !isAdmin(metadata) && role !== 'operator' && !(Array.isArray(roles) && roles.includes('operator'))
}
