/** One token of RFC 9110, without the characters that no registered type has. */
const TOKEN = '[\\w!#$&^.+-]{1,127}'
/** Printable ASCII in quotes, with escapes. */
const QUOTED = '"(?:[ !#-\\[\\]-~]|\\\\[ -~]){0,255}"'
const PARAMETERS = `(?: *; *${TOKEN}=(?:${TOKEN}|${QUOTED})){0,10}`

/** Type, subtype and parameters (RFC 9110, 8.3.1). Downloads send them unchanged. */
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}${PARAMETERS}$`)
/** A media type in the settings of a bucket, where `*` means all types or subtypes. */
const MEDIA_RANGE = new RegExp(`^(?:\\*|(?:\\*/\\*|${TOKEN}/(?:\\*|${TOKEN}))${PARAMETERS})$`)

export function isMediaType (text: string): boolean {
  return MEDIA_TYPE.test(text)
}

export function isMediaRange (text: string): boolean {
  return MEDIA_RANGE.test(text)
}

/** Type and subtype in lower case, without parameters. */
export function essenceOf (mediaType: string): string {
  return mediaType.split(';', 1)[0]!.trim().toLowerCase()
}
