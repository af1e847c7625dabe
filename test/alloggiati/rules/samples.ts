import type { Schedina } from '#schemas/schedina.ts'
import type { RecordSchedina } from '#src/alloggiati/codec/layout.ts'
import { bundledData } from '#src/alloggiati/tables/bundled.ts'
import { createTables } from '#src/alloggiati/tables/code-tables.ts'
import type { Comune } from '#src/alloggiati/tables/types.ts'
import { validate, type Validation } from '#src/alloggiati/rules/validate.ts'

/** The snapshot, with invented comuni whose codes have the same ending. The snapshot has no such pair. */
const data = bundledData()
const twins: Comune[] = [
  { codice: '401999001', descrizione: 'PROVA ALTA', provincia: 'TO', cessato_il: null },
  { codice: '402999001', descrizione: 'PROVA BASSA', provincia: 'AO', cessato_il: '1980-12-31' },
  { codice: '401999002', descrizione: 'PROVA DI SOPRA', provincia: 'TO', cessato_il: null },
  { codice: '402999002', descrizione: 'PROVA DI SOTTO', provincia: 'AO', cessato_il: null }
]
/** A document code that the layout cannot contain, as in a damaged table. */
const damaged = { codice: 'PÈ-01', descrizione: 'DOCUMENTO DI PROVA' }

export const tables = createTables({
  ...data, comuni: [...data.comuni, ...twins], documenti: [...data.documenti, damaged]
})

export const today = '2026-11-21'

export const soggiorno = { check_in: '2026-11-21', numero_notti: 3 }

/** An invented single guest, born in Rome. */
export function single (changes: Schedina = {}): Schedina {
  return {
    tipo_alloggiato: '16',
    cognome: 'PROVETTI',
    nome: 'MARCO',
    sesso: 'M',
    data_nascita: '1980-05-15',
    comune_nascita: '412058091',
    provincia_nascita: 'RM',
    stato_nascita: '100000100',
    cittadinanza: '100000100',
    tipo_documento: 'IDELE',
    numero_documento: 'CA00000AA',
    luogo_rilascio: '412058091',
    ...changes
  }
}

/** An invented single guest, born in Germany, with a foreign passport. */
export function foreigner (changes: Schedina = {}): Schedina {
  return single({
    cognome: 'MUSTERMANN',
    nome: 'ERIKA',
    sesso: 'F',
    comune_nascita: '',
    provincia_nascita: '',
    stato_nascita: '100000216',
    cittadinanza: '100000216',
    tipo_documento: 'PASOR',
    numero_documento: 'C01X00T47',
    luogo_rilascio: '100000216',
    ...changes
  })
}

/** An invented child or companion, without a document. */
export function member (tipo: '19' | '20', nome: string, changes: Schedina = {}): Schedina {
  return single({
    tipo_alloggiato: tipo,
    nome,
    data_nascita: '2012-03-04',
    tipo_documento: '',
    numero_documento: '',
    luogo_rilascio: '',
    ...changes
  })
}

/** A leader with one member. */
export function family (changes: Schedina = {}): Schedina[] {
  return [single({ tipo_alloggiato: '17', ...changes }), member('19', 'ANNA')]
}

/** The result of `validate` for a list and a stay, with the records separate. */
export function check (
  ospiti: readonly unknown[],
  stay: Record<string, unknown> = soggiorno
): Validation & { records: RecordSchedina[] | null } {
  const validation = validate({ ospiti, soggiorno: stay, tables, today })
  return { ...validation, records: validation.accepted?.records ?? null }
}
