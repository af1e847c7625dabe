import { foldDocument, foldName } from '../codec/folding.ts'
import type { Tables } from '../tables/tables.ts'
import { addDays, daysBetween, isDay, type Day } from '#src/lib/time.ts'
import { CAMPI_OSPITE, type CampoOspite } from './fields.ts'
import { groups, MAX_ROWS } from './groups.ts'
import { resolveBirth, resolveIssue, type Nascita, type Rilascio } from './places.ts'

/** What `validate` is given. Items of `ospiti` may carry anything: a stored guest, a field of the wrong type, null. */
export interface Input {
  ospiti: readonly unknown[]
  soggiorno: Readonly<Record<string, unknown>>
  tables: Tables
  /** The present day in Europe/Rome. */
  today: Day
  /** Records of 174 characters, each with the apartment's id. */
  fileUnico?: boolean
  /** Rows that one call may carry. */
  maxRows?: number
}

/** The stay as the rules see it. */
export interface Stay {
  arrivo: string
  /** The arrival as a day that exists. */
  giorno: Day | undefined
  /** As given, or computed from `check_out`; undefined when neither says it. */
  notti: unknown
  appartamento: unknown
}

type Folded = ReturnType<typeof foldName>

/** One guest with all that the rules ask about: every rule reads, none computes twice. */
export interface Caso {
  indice: number
  /** The text fields without blanks around; absent ones are `''`. */
  campi: Readonly<Record<CampoOspite, string>>
  cognome: Folded
  nome: Folded
  numero: Folded
  /** The birth date as a day that exists. */
  natoIl: Day | undefined
  nascita: Nascita
  rilascio: Rilascio
  /** Indices of the guest's group, leader first. */
  gruppo: readonly number[]
  /** Index of an earlier guest with the same name and birth date. */
  ripete: number | undefined
  soggiorno: Stay
  fileUnico: boolean
  maxRows: number
  tables: Tables
  oggi: Day
  ieri: Day
}

/** Fields whose codes are compared in upper case. */
const CODICI: readonly CampoOspite[] = ['sesso', 'provincia_nascita', 'tipo_documento']

/** The guests of a list as the rules see them. */
export function casesOf ({ ospiti, soggiorno, tables, today, fileUnico = false, maxRows = MAX_ROWS }: Input): Caso[] {
  const fields = ospiti.map(fieldsOf)
  const groupOf = new Map(groups(fields).flatMap((group) => group.map((index) => [index, group])))
  const stay = stayOf(soggiorno)
  const known = new Map<string, number>()
  return fields.map((campi, indice) => {
    const natoIl = isDay(campi.data_nascita) ? campi.data_nascita : undefined
    const contesto = { tables, nascita: natoIl, oggi: today }
    const given = { comune: campi.comune_nascita, provincia: campi.provincia_nascita, stato: campi.stato_nascita }
    const cognome = foldName(campi.cognome)
    const nome = foldName(campi.nome)
    const identity = cognome.text && nome.text && natoIl ? `${cognome.text}|${nome.text}|${natoIl}` : undefined
    const ripete = identity === undefined ? undefined : known.get(identity)
    if (identity !== undefined && ripete === undefined) known.set(identity, indice)
    return {
      indice,
      campi,
      cognome,
      nome,
      numero: foldDocument(campi.numero_documento),
      natoIl,
      nascita: resolveBirth(given, contesto),
      rilascio: resolveIssue(campi.luogo_rilascio, contesto),
      gruppo: groupOf.get(indice) ?? [indice],
      ripete,
      soggiorno: stay,
      fileUnico,
      maxRows,
      tables,
      oggi: today,
      ieri: addDays(today, -1)
    }
  })
}

function fieldsOf (ospite: unknown): Record<CampoOspite, string> {
  const values: Partial<Record<string, unknown>> = typeof ospite === 'object' && ospite !== null ? { ...ospite } : {}
  return Object.fromEntries(CAMPI_OSPITE.map((campo) => {
    const value = values[campo]
    const text = typeof value === 'string' ? value.trim() : ''
    return [campo, CODICI.includes(campo) ? text.toUpperCase() : text]
  })) as Record<CampoOspite, string>
}

/** A whole booking may stand for the stay: its nights are taken, or counted up to its `check_out`. */
function stayOf (soggiorno: Readonly<Record<string, unknown>>): Stay {
  const arrivo = typeof soggiorno.check_in === 'string' ? soggiorno.check_in.trim() : ''
  const giorno = isDay(arrivo) ? arrivo : undefined
  const partenza = soggiorno.check_out
  const counted =
    giorno !== undefined && typeof partenza === 'string' && isDay(partenza) ? daysBetween(giorno, partenza) : undefined
  return {
    arrivo,
    giorno,
    notti: soggiorno.numero_notti ?? counted,
    appartamento: soggiorno.id_appartamento ?? undefined
  }
}
