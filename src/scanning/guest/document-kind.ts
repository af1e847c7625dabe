/** What a document is, as far as its code tells. A visa or a residence permit is no document of identity. */
export type DocumentKind =
  | 'passport' | 'diplomatic-passport' | 'service-passport' | 'refugee-document' | 'electronic-card' | 'card' | 'crew'
  | 'visa' | 'residence-permit' | 'other'

/**
 * By the first codes that fit: ICAO Doc 9303 parts 4, 5 and 7. The second letter of a passport means the same
 * everywhere only since its eighth edition (PD diplomatic, PO official, PR refugees, PS and PT stateless people and
 * aliens, PL laissez-passer).
 */
const KINDS: readonly (readonly [RegExp, DocumentKind])[] = [
  [/^V/, 'visa'],
  [/^[AI]R$/, 'residence-permit'],
  [/^AC$/, 'crew'],
  [/^PD$/, 'diplomatic-passport'],
  [/^PO$/, 'service-passport'],
  [/^PR$/, 'refugee-document'],
  [/^P[LST]$/, 'other'],
  [/^P/, 'passport'],
  [/^[AIC]/, 'card']
]

/** Italy's only cards with a zone are electronic ones; of other states' cards the zone does not tell. */
export function documentKind (code: string, issuer: string): DocumentKind {
  const kind = KINDS.find(([pattern]) => pattern.test(code))?.[1] ?? 'other'
  return kind === 'card' && issuer === 'ITA' ? 'electronic-card' : kind
}
