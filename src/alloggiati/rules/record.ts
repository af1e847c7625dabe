import type { RecordSchedina } from '../codec/codec.ts'
import type { Caso } from './case.ts'
import { CON_DOCUMENTO } from './fields.ts'
import { isSex } from './person-rules.ts'
import { isApartment, isNights, MAX_NOTTI } from './stay-rules.ts'

/**
 * The record of a guest in whom no rule found an error; undefined when something that every record needs is missing,
 * which the rules exclude.
 */
export function recordOf (caso: Caso): RecordSchedina | undefined {
  const { campi, soggiorno, natoIl, nascita, cognome, nome } = caso
  const { giorno, notti, appartamento } = soggiorno
  if (giorno === undefined || natoIl === undefined || !isNights(notti) || !isSex(campi.sesso)) return undefined
  return {
    tipo_alloggiato: campi.tipo_alloggiato,
    data_arrivo: giorno,
    permanenza: Math.min(notti, MAX_NOTTI),
    cognome: cognome.text,
    nome: nome.text,
    sesso: campi.sesso,
    data_nascita: natoIl,
    ...birthFields(caso),
    stato_nascita: nascita.codiceStato,
    cittadinanza: campi.cittadinanza,
    ...documentFields(caso),
    ...(caso.fileUnico && isApartment(appartamento) ? { id_appartamento: appartamento } : {})
  }
}

/** Comune and province: blank for a birth abroad. */
function birthFields ({ nascita: { comune }, campi }: Caso) {
  return comune.esito === 'trovato'
    ? { comune_nascita: comune.comune.codice, provincia: campi.provincia_nascita }
    : { comune_nascita: '', provincia: '' }
}

/** The document: blank for those who bring none. */
function documentFields ({ campi, numero, rilascio }: Caso) {
  if (!CON_DOCUMENTO.includes(campi.tipo_alloggiato)) return { tipo_doc: '', num_doc: '', luogo_rilascio: '' }
  return {
    tipo_doc: campi.tipo_documento,
    num_doc: numero.text,
    luogo_rilascio: rilascio.esito === 'trovato' ? rilascio.comune.codice : campi.luogo_rilascio
  }
}
