import type { Metadata } from '#drizzle/tables/identity.ts'

/** The values of `app_metadata.role`. */
export type Role = 'admin' | 'operator' | 'pending'

/**
 * Whether these metadata make an administrator. Only `app_metadata` count, because users write their `user_metadata`
 * themselves.
 */
export function isAdmin ({ role, roles }: Metadata): boolean {
  return role === 'admin' || (Array.isArray(roles) && roles.includes('admin'))
}

/** Whether these are the metadata of an operator or an administrator. `isStaffRow` is the same condition in SQL. */
export function isStaff (metadata: Metadata): boolean {
  return isAdmin(metadata) || metadata.role === 'operator'
}

/**
 * A person who signed up without an administrator waits until one assigns a role: an e-mail address alone must not give
 * access to guests' data.
 */
export function isPending ({ role }: Metadata): boolean {
  return role === 'pending'
}

/**
 * The same for accounts of an external provider, whose sign-up may be open to all. They do not say whether an
 * administrator created them, so only a role gives access.
 */
export function lacksRole (metadata: Metadata): boolean {
  const { role, roles } = metadata
  return !isAdmin(metadata) && role !== 'operator' && !(Array.isArray(roles) && roles.includes('operator'))
}
