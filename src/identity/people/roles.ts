import { or, sql, type SQL } from 'drizzle-orm'
import { users, type Metadata } from '#drizzle/tables/identity.ts'

/** The values of `app_metadata.role`. */
export type Role = 'admin' | 'operator' | 'pending'

/*
 * Only `admin` and `operator` give rights, as `role` or in the list `roles`. Only `app_metadata` are read, because
 * users write their `user_metadata` themselves.
 */

export function isAdmin (metadata: Metadata): boolean {
  return hasRole(metadata, 'admin')
}

/** Whether these are the metadata of an operator or an administrator. */
export function isStaff (metadata: Metadata): boolean {
  return hasRole(metadata, 'admin') || hasRole(metadata, 'operator')
}

function hasRole ({ role, roles }: Metadata, wanted: Role): boolean {
  return role === wanted || (Array.isArray(roles) && roles.includes(wanted))
}

/** `isAdmin` as an SQL condition. */
export const isAdminRow = rowHasRole('admin')
/** `isStaff` as an SQL condition. */
export const isStaffRow = or(isAdminRow, rowHasRole('operator'))!

function rowHasRole (wanted: Role): SQL {
  const [single, listed] = [{ role: wanted }, { roles: [wanted] }].map((each) => JSON.stringify(each))
  return or(sql`${users.app_metadata} @> ${single}::jsonb`, sql`${users.app_metadata} @> ${listed}::jsonb`)!
}

/**
 * Whether the role is that of a sign-up, and no administrator has assigned another. It gives no access, because anybody
 * can have an e-mail address.
 */
export function hasPendingRole ({ role }: Metadata): boolean {
  return role === 'pending'
}

/** The role of a person whom an administrator creates or invites without a role. */
export const DEFAULT_ROLE: Role = 'operator'

/** Adds the default role to metadata without one. */
export function withDefaultRole (metadata: Metadata): Metadata {
  const { role, roles } = metadata
  const hasNone = (role === undefined || role === null || role === '') && (roles === undefined || roles === null)
  return hasNone ? { ...metadata, role: DEFAULT_ROLE } : metadata
}
