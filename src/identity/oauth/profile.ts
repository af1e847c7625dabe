import type { Metadata } from '#drizzle/tables/identity.ts'
import { isEmail, normalizeEmail } from '../people/email.ts'
import { unusable } from './problems.ts'

/** What a provider says of a person. */
export interface Profile {
  /** Who this is to the provider, for ever. */
  subject: string
  email: string | undefined
  /** Only if the provider says so. */
  emailVerified: boolean
  /** What is kept of it, in the names of Supabase Auth. Nothing else that the provider sends is. */
  metadata: Metadata
}

/** The parts of a profile as a provider names them, not to be trusted. */
export interface Facts {
  issuer: string
  subject: unknown
  email: unknown
  emailVerified: unknown
  name: unknown
  userName: unknown
  picture: unknown
}

const LONGEST_SUBJECT = 255
const LONGEST_ADDRESS = 500
/** Metadata go into every access token: short ones only. */
const LONGEST_NAME = 100

/** @throws OAuthProblem when it does not say who it is */
export function profileOf ({ issuer, subject, email, emailVerified, name, userName, picture }: Facts): Profile {
  const sub = text(subject, LONGEST_SUBJECT)
  if (sub === undefined) throw unusable('subject')
  const address = typeof email === 'string' && isEmail(email.trim()) ? normalizeEmail(email) : undefined
  // Some write it as a text.
  const isVerified = address !== undefined && (emailVerified === true || emailVerified === 'true')
  const kept = metadata(sub, issuer, { address, isVerified, name, userName, picture })
  return { subject: sub, email: address, emailVerified: isVerified, metadata: kept }
}

type Kept = Pick<Facts, 'name' | 'userName' | 'picture'> & { address: string | undefined, isVerified: boolean }

function metadata (sub: string, iss: string, { address, isVerified, name, userName, picture }: Kept): Metadata {
  const fullName = text(name, LONGEST_NAME)
  const user_name = text(userName, LONGEST_NAME)
  const avatar_url = secureAddress(picture)
  const names = { name: fullName, full_name: fullName, user_name, preferred_username: user_name }
  const proof = address === undefined ? {} : { email: address, email_verified: isVerified }
  const known = { ...proof, ...names, avatar_url, picture: avatar_url }
  return {
    iss,
    sub,
    provider_id: sub,
    phone_verified: false,
    ...Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined))
  }
}

/** Text that can be kept: PostgreSQL holds neither NUL nor halves of surrogate pairs. What is too long is left out. */
function text (value: unknown, longest: number): string | undefined {
  if (typeof value !== 'string' || value.trim() === '' || value.length > longest) return undefined
  return /\p{Cc}/u.test(value) || !value.isWellFormed() ? undefined : value
}

function secureAddress (value: unknown): string | undefined {
  const address = text(value, LONGEST_ADDRESS)
  return address !== undefined && URL.canParse(address) && new URL(address).protocol === 'https:' ? address : undefined
}
