import { WITH_DOCUMENT } from '#schemas/guest-types.ts'
import type { RecordSchedina } from '../codec/codec.ts'
import type { GuestCase } from './case.ts'
import { MAX_DECLARED_NIGHTS } from './stay-rules.ts'

/** The record of a guest in whom no rule found an error: then nothing is missing that every record needs. */
export function recordOf (guest: GuestCase): RecordSchedina {
  const { fields, stay: { arrival, nights, apartment }, born, birth, cognome, nome } = guest
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
    ...(guest.fileUnico ? { id_appartamento: apartment! } : {})
  }
}

/** Comune and province: blank for a birth abroad. */
function birthFields ({ birth: { comune, provincia } }: GuestCase) {
  return comune.status === 'found'
    ? { comune_nascita: comune.comune.codice, provincia }
    : { comune_nascita: '', provincia: '' }
}

/** The document: blank for guests who bring none. */
function documentFields ({ fields, documentNumber, issue }: GuestCase) {
  if (!WITH_DOCUMENT.includes(fields.tipo_alloggiato)) return { tipo_doc: '', num_doc: '', luogo_rilascio: '' }
  return {
    tipo_doc: fields.tipo_documento,
    num_doc: documentNumber.text,
    luogo_rilascio: issue.status === 'found' ? issue.comune.codice : fields.luogo_rilascio
  }
}
