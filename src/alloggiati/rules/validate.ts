import { CodecError, encode, type RecordSchedina } from '../codec/codec.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { casesOf, type Caso, type Input } from './case.ts'
import { campoApi } from './fields.ts'
import { recordOf } from './record.ts'
import type { Rule, Valori } from './rule.ts'
import { RULES } from './rules.ts'

export interface Validation {
  valid: boolean
  errors: Segnalazione[]
  warnings: Segnalazione[]
  /** One record per guest, in order, each known to encode; null while there are errors. */
  records: RecordSchedina[] | null
}

/**
 * Judges a list of guests and their stay by the rules of the police record, whatever is in it: it never throws. Remarks
 * on the stay are given once, on the first guest; an empty list is an error of the (missing) first guest.
 */
export function validate (input: Input): Validation {
  if (input.ospiti.length === 0) {
    return refused([{ ospite: 0, campo: 'ospiti', messaggio: 'Non ci sono ospiti da comunicare' }], [])
  }
  const cases = casesOf(input)
  const errors = findings(cases, 'error')
  const warnings = findings(cases, 'warning')
  if (errors.length > 0) return refused(errors, warnings)
  const written = cases.map(write)
  const faults = written.flatMap(({ fault }) => fault ?? [])
  if (faults.length > 0) return refused(faults, warnings)
  return { valid: true, errors, warnings, records: written.flatMap(({ record }) => record ?? []) }
}

function refused (errors: Segnalazione[], warnings: Segnalazione[]): Validation {
  return { valid: false, errors, warnings, records: null }
}

function findings (cases: readonly Caso[], gravita: Rule['gravita']): Segnalazione[] {
  const rules = RULES.filter((rule) => rule.gravita === gravita)
  return cases.flatMap((caso) => rules.flatMap((rule) => {
    const found = concerns(rule, caso) && rule.trova(caso)
    return found === false
      ? []
      : { ospite: caso.indice, campo: rule.campo, messaggio: fill(rule.messaggio, found === true ? {} : found) }
  }))
}

function concerns ({ per }: Rule, { indice, campi }: Caso): boolean {
  if (per === 'tutti') return true
  return per === 'elenco' ? indice === 0 : per.includes(campi.tipo_alloggiato)
}

function fill (text: string, values: Valori): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
}

/** The record of a guest, proven to encode. What the layout refuses although the rules let it pass becomes a remark. */
function write (caso: Caso): { record?: RecordSchedina, fault?: Segnalazione } {
  const record = recordOf(caso)
  if (record === undefined) {
    return { fault: { ospite: caso.indice, campo: 'ospiti', messaggio: 'La schedina è incompleta' } }
  }
  try {
    encode(record)
    return { record }
  } catch (error) {
    if (!(error instanceof CodecError)) throw error
    return { fault: { ospite: caso.indice, campo: campoApi(error.field), messaggio: error.message } }
  }
}
