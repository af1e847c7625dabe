import { createHash } from 'node:crypto'
import type { FastifyMultipartOptions, Multipart } from '@fastify/multipart'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import createError from '@fastify/error'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { ContenutoTroppoGrande } from '#src/services/files/errors.ts'

export const ServeMultipart = createError(
  'TIPO_NON_SUPPORTATO',
  'Content-Type non supportato: serve multipart/form-data',
  415
)

/** What the parts of a form may weigh beside the file. */
const FRAME_BYTES = 16 * 1024

/** A form that brings one file, in the field `file`. */
export interface FileForm {
  /** Bytes of the whole body. */
  bodyLimit: number
  limits: NonNullable<FastifyMultipartOptions['limits']>
  /** Refuses a body that is no form, or says to be too large, before a byte of it is read (`preParsing`). */
  check (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown>
  /** Makes the parts the body of the request, which its schema then looks at as at any other (`preValidation`). */
  read (request: FastifyRequest): Promise<void>
}

/** @param bytesMax bytes of the file */
export function fileForm (bytesMax: number): FileForm {
  const bodyLimit = bytesMax + FRAME_BYTES
  const tooLarge = () => new ContenutoTroppoGrande(String(bytesMax))

  /** What the parser throws has codes of its own, or none. */
  function formError (err: FastifyError): Error {
    if (err instanceof CampiNonValidi) return err
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
      fields: 5,
      parts: 6,
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
      try {
        for await (const part of request.parts()) body[nameOf(part, body)] = await valueOf(part)
      } catch (err) {
        throw formError(err as FastifyError)
      }
      request.body = body
      if (request.routeOptions.config.idempotent) request.bodyText = summaryOf(body)
    }
  }
}

/** What tells one form from another, for `Idempotency-Key`. */
function summaryOf (body: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(body).sort(([one], [other]) => one < other ? -1 : 1).map(([name, value]) => (
    [name, Buffer.isBuffer(value) ? createHash('sha256').update(value).digest('hex') : value]
  )))
}

/** The name of a part; one that comes twice would be taken for what it is not. */
function nameOf ({ fieldname }: Multipart, body: object): string {
  if (Object.hasOwn(body, fieldname)) throw new CampiNonValidi({ campo: fieldname, messaggio: 'è ripetuto' })
  return fieldname
}

async function valueOf (part: Multipart): Promise<unknown> {
  if (part.type === 'file') return part.fieldname === 'file' ? await part.toBuffer() : refuseFile(part.fieldname)
  if (part.fieldname === 'file') throw new CampiNonValidi({ campo: 'file', messaggio: 'deve essere un file' })
  if (part.valueTruncated) throw new CampiNonValidi({ campo: part.fieldname, messaggio: 'è troppo lungo' })
  return part.value
}

function refuseFile (campo: string): never {
  throw new CampiNonValidi({ campo, messaggio: 'non può essere un file' })
}
