import { createHash } from 'node:crypto'
import multipart from '@fastify/multipart'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import createError from '@fastify/error'
import type { FieldError } from '#schemas/common.ts'
import {
  DocumentUploadBody, DocumentUploadQuery, DocumentUploadResponse, type DocumentForm, type DocumentParams,
  type DocumentUpload
} from '#schemas/document.ts'
import { IMAGE_ERRORS } from '#schemas/errors/groups.ts'
import { IMAGE_BODY_MAX, IMAGE_BYTES_MAX, IMAGE_TYPES, SOURCE_WORDS } from '#schemas/image.ts'
import type { Config } from '#src/config/config.ts'
import { disconnectSignal } from '#src/http/client-disconnects.ts'
import { fileForm } from '#src/http/file-form.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { LIMIT_WORDS } from '#src/services/images/image-limits.ts'
import { DOCUMENTS } from './image-names.ts'
import { saveImage, type Upload } from './upload.ts'

const route = routesUnder('Documenti')

const TipoNonSupportato = createError(
  'TIPO_NON_SUPPORTATO',
  `Content-Type non supportato: serve application/json, multipart/form-data, ${IMAGE_TYPES.join(', ')}`,
  415
)

const SIDE_FIELDS = ['booking_id', 'guest_idx', 'side'] as const
const form = fileForm(IMAGE_BYTES_MAX)

const uploadRoute = {
  bodyLimit: IMAGE_BODY_MAX,
  ...route(
    {
      access: 'auth',
      idempotent: true,
      holdsBody: true,
      headers: { reads: ['If-Match'] as const },
      findValidationErrors: ({ body, query }: RequestFields) => misplacedFields(Buffer.isBuffer(body), query)
    },
    'uploadDocumento', 'Salva l’immagine di un lato del documento di un ospite', {
      errorCodes: ['PRENOTAZIONE_NON_TROVATA', 'PRENOTAZIONE_MODIFICATA', ...IMAGE_ERRORS],
      description:
        `${SOURCE_WORDS}, di al massimo 10 MiB, ${LIMIT_WORDS}. Il corpo è un modulo, o JSON con l’immagine in ` +
        'Base64, o l’immagine stessa, con gli altri campi nella query e il formato in Content-Type. L’immagine è ' +
        'ridotta a `IMAGE_SIDE_MAX` pixel per lato (4096), conservata senza metadati e cifrata, e sostituisce quella ' +
        'dello stesso lato.',
      querystring: DocumentUploadQuery,
      body: DocumentUploadBody,
      response: { 200: DocumentUploadResponse }
    }
  )
}

/** The upload of images has a separate scope, because only it accepts an image or a form as body. */
export const imageUploads: FastifyPluginAsyncTypebox<{ config: Config }> = async (app, { config }) => {
  await app.register(multipart, { limits: form.limits })
  app.addContentTypeParser<Buffer>([...IMAGE_TYPES], { parseAs: 'buffer' }, (request, bytes, done) => {
    if (request.headers['idempotency-key'] !== undefined) {
      request.bodyText = createHash('sha256').update(bytes).digest('hex')
    }
    done(null, bytes)
  })
  app.addContentTypeParser('*', (_request, _payload, done) => done(new TipoNonSupportato()))
  app.addHook('preParsing', async (request, reply, payload) =>
    isForm(request) ? await form.check(request, reply, payload) : payload)
  app.addHook('preValidation', async (request) => {
    if (isForm(request)) await readForm(request)
    // No schema validates a request without a body, because it has no content type.
    if (request.body === undefined) throw new CampiNonValidi({ campo: '', messaggio: 'deve avere un valore' })
  })

  app.post('/api/documents/upload', uploadRoute, async (request, reply) => {
    const upload = uploadOf(request)
    const { booking_id, guest_idx, side } = upload.side
    const name = await saveImage(app, request, upload, disconnectSignal(reply))
    return {
      success: true,
      message: 'Immagine salvata',
      path: `${DOCUMENTS}/${name}`,
      url: `${config.PUBLIC_URL}/api/documents/${booking_id}/${guest_idx}/${side}`
    }
  })
}

function isForm ({ headers }: FastifyRequest): boolean {
  return /^multipart\/form-data\s*;/i.test(headers['content-type'] ?? '')
}

/** Parses a form. Its numbers are text, unlike those of JSON. */
async function readForm (request: FastifyRequest): Promise<void> {
  await form.read(request)
  const body = request.body as Record<string, unknown>
  for (const name of ['booking_id', 'guest_idx']) {
    const value = body[name]
    if (typeof value === 'string' && /^-?\d{1,15}$/.test(value)) body[name] = Number(value)
  }
}

/** Errors about the fields of a side. They belong in the query if the body is an image, otherwise in the body. */
function misplacedFields (isImage: boolean, query: Readonly<Record<string, unknown>>): FieldError[] {
  const messaggio = isImage ? 'è un campo obbligatorio' : 'va nel corpo, come gli altri campi'
  return SIDE_FIELDS.filter((campo) => isImage === (query[campo] === undefined)).map((campo) => ({ campo, messaggio }))
}

/** The upload in any of the three bodies, which the schema has validated. */
function uploadOf ({ body, query, headers }: FastifyRequest): Upload {
  if (Buffer.isBuffer(body)) {
    const [, ext = ''] = /^\w+\/(\w+)/.exec(headers['content-type']!.toLowerCase()) ?? []
    return {
      side: query as DocumentParams,
      campo: '',
      image: body as Buffer<ArrayBuffer>,
      format: { campo: 'Content-Type', ext }
    }
  }
  const { booking_id, guest_idx, side, ext, ...rest } = body as DocumentUpload | DocumentForm
  return {
    side: { booking_id, guest_idx, side },
    ...'file' in rest ? { campo: 'file', image: rest.file } : { campo: 'base64Image', image: rest.base64Image },
    format: ext === undefined ? undefined : { campo: 'ext', ext }
  }
}
