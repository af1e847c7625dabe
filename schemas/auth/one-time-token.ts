/**
 * The purpose of a mailed token. A change of address needs two. `email_change_half` keeps the first until the second is
 * used.
 */
export const TOKEN_KINDS = [
  'signup',
  'recovery',
  'magiclink',
  'invite',
  'email_change_current',
  'email_change_new',
  'email_change_half',
  'reauthentication'
] as const
export type TokenKind = typeof TOKEN_KINDS[number]
