import type { Metadata } from '#drizzle/tables/identity.ts'
import { isEmail, normalizeEmail } from '../people/email.ts'
import { unusableResponse } from './errors.ts'

export interface Profile {
  subject: string
  email: string | undefined
  /** True only when the provider has verified the address. */
  emailVerified: boolean
  /** The fields that are kept, with the names of Supabase Auth. All other fields of the provider are dropped. */
  metadata: Metadata
}

export interface ProfileClaims {
  issuer: string
  subject: unknown
  email: unknown
  emailVerified: unknown
  name: unknown
  userName: unknown
  picture: unknown
}

const MAX_SUBJECT_LENGTH = 255
const MAX_ADDRESS_LENGTH = 500
/** Every access token contains the metadata, so names must be short. */
const MAX_NAME_LENGTH = 100

export function profileOf ({ issuer, subject, email, emailVerified, name, userName, picture }: ProfileClaims): Profile {
  const sub = text(subject, MAX_SUBJECT_LENGTH)
  if (sub === undefined) throw unusableResponse('subject')
  const address = typeof email === 'string' && isEmail(email) ? normalizeEmail(email) : undefined
  // Some providers send `email_verified` as a string.
  const isVerified = address !== undefined && (emailVerified === true || emailVerified === 'true')
  const metadata = metadataOf(sub, issuer, { address, isVerified, name, userName, picture })
  return { subject: sub, email: address, emailVerified: isVerified, metadata }
}

interface MetadataClaims extends Pick<ProfileClaims, 'name' | 'userName' | 'picture'> {
  address: string | undefined
  isVerified: boolean
}

function metadataOf (
  sub: string, iss: string, { address, isVerified, name, userName, picture }: MetadataClaims
): Metadata {
  const fullName = text(name, MAX_NAME_LENGTH)
  const user_name = text(userName, MAX_NAME_LENGTH)
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

/** A text that PostgreSQL can store. Undefined for blank or too long texts, control characters and lone surrogates. */
function text (value: unknown, maxLength: number): string | undefined {
  if (typeof value !== 'string' || value.trim() === '' || value.length > maxLength) return undefined
  return /\p{Cc}/u.test(value) || !value.isWellFormed() ? undefined : value
}

function secureAddress (value: unknown): string | undefined {
  const address = text(value, MAX_ADDRESS_LENGTH)
  return address !== undefined && URL.canParse(address) && new URL(address).protocol === 'https:' ? address : undefined
}
