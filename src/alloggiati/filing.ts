import type { FileBody } from '#schemas/alloggiati.ts'
import type { Soggiorno } from '#schemas/schedina.ts'
import type { Day } from '#src/time.ts'
import { encode } from './codec/codec.ts'
import { InvioFallito } from './errors.ts'
import { validate } from './rules/validate.ts'
import type { Tables } from './tables/tables.ts'

/** A file as the portal takes it, and as it goes by certified mail when the portal is down. */
export interface Filing {
  /** The arrival that it is about. */
  data: Day
  /** Rows with CRLF between them and none at the end, without byte order mark (guide, p. 31 and 33). */
  text: string
}

/**
 * The records of a list as a file: rows of 168 characters, of 174 where the stay names an apartment.
 * @throws InvioFallito (VALIDAZIONE) as a submission would
 */
export function filing (ospiti: FileBody['ospiti'], soggiorno: Soggiorno, tables: Tables, today: Day): Filing {
  const { errors, records } = validate({ ospiti, soggiorno, tables, today, fileUnico: soggiorno.id_appartamento !== undefined })
  if (records === null) throw new InvioFallito('VALIDAZIONE', { messaggio_soap: errors[0]?.messaggio ?? '', errors })
  return { data: records[0]!.data_arrivo, text: records.map(encode).join('\r\n') }
}
