import type { Mascherata } from '#schemas/invio.ts'
import { decode, type RecordSchedina } from '../codec/codec.ts'

/** Characters of a document's number that are shown at most. */
const SHOWN = 3

/** The part of a line that may be shown; null for a line that is no record. */
export function maskLine (line: string): Mascherata | null {
  const decoded = decode(line)
  return 'record' in decoded ? mask(decoded.record) : null
}

function mask ({
  tipo_alloggiato,
  cognome,
  nome,
  data_nascita,
  cittadinanza,
  tipo_doc,
  num_doc
}: RecordSchedina): Mascherata {
  return {
    tipo_alloggiato,
    cognome: initial(cognome),
    nome: initial(nome),
    anno_nascita: Number(data_nascita.slice(0, 4)),
    cittadinanza,
    tipo_documento: tipo_doc,
    numero_documento: tail(num_doc)
  }
}

function initial (name: string): string {
  return `${name.slice(0, 1)}.`
}

/** The last characters, never more than half: a short number would be shown whole. */
function tail (number: string): string {
  const shown = Math.min(SHOWN, Math.floor(number.length / 2))
  return number === '' ? '' : `…${number.slice(number.length - shown)}`
}
