/**
 * What a mail proves. A change of address takes two proofs; `email_change_half` keeps the first one until the second
 * comes.
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
