/** The kind of a document. Visas and residence permits are not identity documents. */
export type DocumentKind =
  | 'passport' | 'diplomatic-passport' | 'service-passport' | 'refugee-document' | 'electronic-card' | 'card' | 'crew'
  | 'driving-licence' | 'visa' | 'residence-permit' | 'other'

/**
 * The kinds of document codes (ICAO Doc 9303 parts 4, 5, 7). The first match counts. The second letter of a passport is
 * standardized only since the eighth edition. PD means diplomatic, PO official, PR refugee, PL laissez-passer, PS and
 * PT stateless people and aliens.
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

/** The kind that the document code of a zone means. All Italian cards with a zone are electronic. */
export function documentKind (code: string, issuer: string): DocumentKind {
  // The United States print C1 or C2 on cards of permanent residents.
  if (issuer === 'USA' && /^C[12]$/.test(code)) return 'residence-permit'
  const kind = KINDS.find(([pattern]) => pattern.test(code))?.[1] ?? 'other'
  return kind === 'card' && issuer === 'ITA' ? 'electronic-card' : kind
}
