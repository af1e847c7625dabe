import type { Segnalazione } from '#schemas/schedina.ts'
import { CodecError, encode } from '../codec/codec.ts'
import { MAX_DECLARED_NIGHTS, type RecordSchedina } from '../codec/layout.ts'
import { casesOf, type GuestCase, type Input } from './case.ts'
import { apiName, type Rule, type Values } from './rule.ts'
import { DOCUMENT_RULES } from './document-rules.ts'
import { LIST_RULES } from './list-rules.ts'
import { OWN_DAYS_RULES } from './own-days-rules.ts'
import { PERSON_RULES } from './person-rules.ts'
import { PLACE_RULES } from './place-rules.ts'
import { STAY_RULES } from './stay-rules.ts'
import { WITH_DOCUMENT } from '#schemas/guest-types.ts'

export interface Validation {
  valid: boolean
  errors: Segnalazione[]
  warnings: Segnalazione[]
  /** The data to send. Null if there are errors. */
  accepted: AcceptedList | null
}

/** A list without errors, guest by guest in order. */
export interface AcceptedList {
  records: RecordSchedina[]
  /** The encoded line of each record. */
  lines: string[]
  /** For each guest, the index of the group's leader. For a guest without a leader, it is the guest's own index. */
  leaders: number[]
}

/**
 * Validates a list of guests and their stay. Invalid input never throws. Errors and warnings of `STAY_RULES` appear
 * once, on the first guest. A warning about a field with an error is left out. An empty list is an error on guest 0.
 */
export function validate (input: Input): Validation {
  if (input.ospiti.length === 0) {
    return refused([{ ospite: 0, campo: 'ospiti', messaggio: 'Non ci sono ospiti da comunicare' }], [])
  }
  const guests = casesOf(input)
  const errors = remarks(guests, RULES.filter(({ severity }) => severity === undefined))
  const warnings = remarks(guests, RULES.filter(({ severity }) => severity === 'warning'))
    .filter((warning) => !errors.some((error) => error.ospite === warning.ospite && error.campo === warning.campo))
  if (errors.length > 0) return refused(errors, warnings)
  const accepted: AcceptedList = { records: [], lines: [], leaders: [] }
  for (const guest of guests) {
    try {
      const record = recordOf(guest)
      accepted.lines.push(encode(record))
      accepted.records.push(record)
      accepted.leaders.push(guest.leader)
    } catch (error) {
      /* c8 ignore next -- only a defect of the program throws another error, which is not a remark on a guest */
      if (!(error instanceof CodecError)) throw error
      errors.push({ ospite: guest.index, campo: apiName(error.field), messaggio: error.message })
    }
  }
  return errors.length > 0 ? refused(errors, warnings) : { valid: true, errors, warnings, accepted }
}

function refused (errors: Segnalazione[], warnings: Segnalazione[]): Validation {
  return { valid: false, errors, warnings, accepted: null }
}

function remarks (guests: readonly GuestCase[], rules: readonly Rule[]): Segnalazione[] {
  return guests.flatMap((guest) => rules.flatMap((rule) => {
    const found = concerns(rule, guest) && rule.applies(guest)
    if (found === false) return []
    const { proposta, ...values } = found === true ? {} : found
    const remark = { ospite: guest.index, campo: rule.field, messaggio: fill(rule.message, values) }
    return proposta === undefined ? remark : { ...remark, proposta: String(proposta) }
  }))
}

/** Stay rules apply only once, to the first guest. */
function concerns (rule: Rule, { index, type }: GuestCase): boolean {
  if (STAY_RULES.includes(rule)) return index === 0
  return rule.concerns === undefined || rule.concerns.includes(type)
}

function fill (message: string, values: Values): string {
  return message.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]))
}

/** All rules, in the order of the remarks on a guest. */
export const RULES: readonly Rule[] = [
  ...STAY_RULES, ...OWN_DAYS_RULES, ...LIST_RULES, ...PERSON_RULES, ...PLACE_RULES, ...DOCUMENT_RULES
]

/** The record of a guest without errors. Such a guest has all required fields. */
function recordOf (guest: GuestCase): RecordSchedina {
  const { fields, stay: { apartment }, days: { arrival, nights }, born, birth, cognome, nome } = guest
  return {
    tipo_alloggiato: fields.tipo_alloggiato,
    data_arrivo: arrival!,
    permanenza: Math.min(nights!, MAX_DECLARED_NIGHTS),
    cognome: cognome.text,
    nome: nome.text,
    sesso: guest.sex!,
    data_nascita: born!,
    ...birthFields(guest),
    stato_nascita: birth.stateCode,
    cittadinanza: fields.cittadinanza,
    ...documentFields(guest),
    ...(apartment === undefined ? {} : { id_appartamento: apartment })
  }
}

/** Comune and province, which are blank for a birth abroad. */
function birthFields ({ birth: { comune, provincia } }: GuestCase) {
  return comune.status === 'found'
    ? { comune_nascita: comune.comune.codice, provincia }
    : { comune_nascita: '', provincia: '' }
}

/** The document, which is blank for guests who need none. */
function documentFields ({ fields, documentNumber, issue }: GuestCase) {
  if (!WITH_DOCUMENT.includes(fields.tipo_alloggiato)) return { tipo_doc: '', num_doc: '', luogo_rilascio: '' }
  return {
    tipo_doc: fields.tipo_documento,
    num_doc: documentNumber.text,
    luogo_rilascio: issue.status === 'found' ? issue.comune.codice : fields.luogo_rilascio
  }
}
