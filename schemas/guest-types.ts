/**
 * The five guest types, with the codes and descriptions of the service's table `Tipi_Alloggiato`. A leader (17, 18)
 * brings a document and `leads` the members that follow at once (guide, p. 33); members bring none (record layout,
 * fields 12 to 14).
 */
export const GUEST_TYPES = [
  { codice: '16', descrizione: 'OSPITE SINGOLO', bringsDocument: true, leads: null },
  { codice: '17', descrizione: 'CAPO FAMIGLIA', bringsDocument: true, leads: '19' },
  { codice: '18', descrizione: 'CAPO GRUPPO', bringsDocument: true, leads: '20' },
  { codice: '19', descrizione: 'FAMILIARE', bringsDocument: false, leads: null },
  { codice: '20', descrizione: 'MEMBRO GRUPPO', bringsDocument: false, leads: null }
] as const

/** The type of a guest alone. */
export const SINGLE_GUEST = '16'
/** The type of a leader of whose members nothing is known: people who travel together are mostly a family. */
export const FAMILY_LEADER = '17'

/** The types that bring a document, and those that do not. */
export const WITH_DOCUMENT = codesOf((type) => type.bringsDocument)
export const WITHOUT_DOCUMENT = codesOf((type) => !type.bringsDocument)
export const LEADERS = codesOf((type) => type.leads !== null)

/** The type of the members that a leader of this type leads; undefined for other types. */
export function memberTypeOf (leader: string): string | undefined {
  return GUEST_TYPES.find(({ codice }) => codice === leader)?.leads ?? undefined
}

/** The type of the leader that a member of this type follows; undefined for other types. */
export function leaderTypeOf (member: string): string | undefined {
  return GUEST_TYPES.find(({ leads }) => leads === member)?.codice
}

function codesOf (choose: (type: (typeof GUEST_TYPES)[number]) => boolean): readonly string[] {
  return GUEST_TYPES.filter(choose).map(({ codice }) => codice)
}
