import { createHash } from 'node:crypto'
import type { FastifyMultipartOptions, Multipart } from '@fastify/multipart'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import createError from '@fastify/error'
import { CampiNonValidi, CorpoNonUtf8 } from '#src/lib/errors.ts'
import { ContenutoTroppoGrande } from '#src/services/files/errors.ts'

const ServeMultipart = createError(
  'TIPO_NON_SUPPORTATO',
  'Content-Type non supportato: serve multipart/form-data',
  415
)

/** The character by which the form parser replaces bytes that are not UTF-8. */
const REPLACED = '\ufffd'
/** Maximum size of the form without the file. */
const FRAME_BYTES = 16 * 1024

/** A multipart form with one file, in the field `file`. */
export interface FileForm {
  /** Maximum size of the whole body, in bytes. */
  bodyLimit: number
  limits: NonNullable<FastifyMultipartOptions['limits']>
  /** Rejects a body of another type, or with too large a `Content-Length`, before it is read (`preParsing`). */
  check (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown>
  /**
   * Parses the form into `request.body`, which the schema then validates as usual (`preValidation`).
   * @returns the name of the file
   */
  read (request: FastifyRequest): Promise<string | undefined>
}

/**
 * @param bytesMax maximum size of the file
 * @param limits maximum number of other fields
 */
export function fileForm (bytesMax: number, { fields = 5 } = {}): FileForm {
  const bodyLimit = bytesMax + FRAME_BYTES
  const tooLarge = () => new ContenutoTroppoGrande(String(bytesMax))

  /** The multipart parser throws errors with its own codes, or without codes. */
  function formError (err: FastifyError): Error {
    if (err instanceof CampiNonValidi || err instanceof CorpoNonUtf8) return err
    if (err.code === 'FST_REQ_FILE_TOO_LARGE') return tooLarge()
    return new CampiNonValidi({
      campo: '',
      messaggio: err.statusCode === 413 ? 'ha troppe parti' : 'non è multipart/form-data valido'
    })
  }

  return {
    bodyLimit,
    limits: {
      files: 1,
      fields,
      parts: fields + 1,
      fileSize: bytesMax,
      fieldSize: 1024,
      fieldNameSize: 100,
      headerPairs: 20
    },
    async check (request, _reply, payload) {
      if (!/^multipart\/form-data\s*;/i.test(request.headers['content-type'] ?? '')) throw new ServeMultipart()
      if (Number(request.headers['content-length']) > bodyLimit) throw tooLarge()
      return payload
    },
    async read (request) {
      const body: Record<string, unknown> = {}
      let filename: string | undefined
      try {
        for await (const part of request.parts()) {
          if (part.type === 'file') filename = part.filename
          body[nameOf(part, body)] = await valueOf(part)
        }
      } catch (err) {
        throw formError(err as FastifyError)
      }
      request.body = body
      if (request.headers['idempotency-key'] !== undefined) request.bodyText = summaryOf(body)
      return filename
    }
  }
}

/** A digest of the form, which the idempotency plugin compares. */
function summaryOf (body: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(body).sort(([one], [other]) => one < other ? -1 : 1).map(([name, value]) => (
    [name, Buffer.isBuffer(value) ? createHash('sha256').update(value).digest('hex') : value]
  )))
}

/** Returns the name of a part. Rejects repeated names, because one part would overwrite the other. */
function nameOf ({ fieldname }: Multipart, body: object): string {
  if (Object.hasOwn(body, fieldname)) throw new CampiNonValidi({ campo: fieldname, messaggio: 'è ripetuto' })
  return fieldname
}

async function valueOf (part: Multipart): Promise<unknown> {
  if (part.type === 'file') return part.fieldname === 'file' ? await part.toBuffer() : refuseFile(part.fieldname)
  if (part.fieldname === 'file') throw new CampiNonValidi({ campo: 'file', messaggio: 'deve essere un file' })
  if (part.valueTruncated) throw new CampiNonValidi({ campo: part.fieldname, messaggio: 'è troppo lungo' })
  if (String(part.value).includes(REPLACED)) throw new CorpoNonUtf8(part.fieldname)
  return part.value
}

function refuseFile (campo: string): never {
  throw new CampiNonValidi({ campo, messaggio: 'non può essere un file' })
}
