/**
 * The five guest types, with the service's codes and descriptions (table `Tipi_Alloggiato`). A leader (17, 18) shows a
 * document and `leads` the members right behind it (guide, p. 33). Members show none (record layout, fields 12 to 14).
 */
export const GUEST_TYPES = [
  { codice: '16', descrizione: 'OSPITE SINGOLO', bringsDocument: true, leads: null },
  { codice: '17', descrizione: 'CAPO FAMIGLIA', bringsDocument: true, leads: '19' },
  { codice: '18', descrizione: 'CAPO GRUPPO', bringsDocument: true, leads: '20' },
  { codice: '19', descrizione: 'FAMILIARE', bringsDocument: false, leads: null },
  { codice: '20', descrizione: 'MEMBRO GRUPPO', bringsDocument: false, leads: null }
] as const

/** The type of a single guest. */
export const SINGLE_GUEST = '16'
/** The type of a leader with unknown members: most groups are families. */
export const FAMILY_LEADER = '17'

/** Types with and without a document. */
export const WITH_DOCUMENT = codesOf((type) => type.bringsDocument)
export const WITHOUT_DOCUMENT = codesOf((type) => !type.bringsDocument)
export const LEADERS = codesOf((type) => type.leads !== null)

/** The member type of a leader type. Undefined for other types. */
export function memberTypeOf (leader: string): string | undefined {
  return GUEST_TYPES.find(({ codice }) => codice === leader)?.leads ?? undefined
}

/** The leader type of a member type. Undefined for other types. */
export function leaderTypeOf (member: string): string | undefined {
  return GUEST_TYPES.find(({ leads }) => leads === member)?.codice
}

function codesOf (choose: (type: (typeof GUEST_TYPES)[number]) => boolean): readonly string[] {
  return GUEST_TYPES.filter(choose).map(({ codice }) => codice)
}
