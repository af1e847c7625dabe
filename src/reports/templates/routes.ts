import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { type FieldError, Ref } from '#schemas/common.ts'
import { PDF_ERRORS, TEMPLATE_ERRORS } from '#schemas/errors/groups.ts'
import { PdfBytes } from '#schemas/pdf.ts'
import { REPORT_BODY_MAX } from '#schemas/report.ts'
import {
  PreviewRequest, type Template, TEMPLATE_ID, TemplateResponse, TemplateCheck, TemplateChecked, TemplateFault,
  TemplateList, TemplateParams, TemplateRemoved, TemplateSaved, TemplateSaving, TemplateVersionParams, TemplateVersions
} from '#schemas/template.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { etag, expectedVersions, isKnown } from '#src/lib/etag.ts'
import type { Clock } from '#src/lib/time.ts'
import { warn } from '#src/pdf/index.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { makeFor, sendPdf } from '../stored-pdfs.ts'
import { checkTemplate, requireSound, variables } from './template-check.ts'
import {
  checkChangeable, findTemplate, findVersion, listTemplates, listVersions, removeTemplate, saveTemplate,
  type StoredTemplate
} from './repository.ts'
import { previewOf } from './samples.ts'

/** Validation errors of a template to save, beyond its schema. */
function savingErrors ({ params: { id }, body: { esempio } }: RequestFields): FieldError[] {
  return [
    ...(typeof id !== 'string' || TEMPLATE_ID.test(id)
      ? []
      : [{ campo: 'id', messaggio: 'deve avere 16 cifre esadecimali minuscole' }]),
    ...(isStorable(esempio) ? [] : [{ campo: 'esempio', messaggio: 'contiene caratteri non ammessi' }])
  ]
}

/** PostgreSQL stores neither NUL nor lone surrogates, neither in values nor in names. */
function isStorable (value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([name, inner]) => isStorable(name) && isStorable(inner))
}

const route = routesUnder('PDF')
const URL = '/api/v1/templates'

const listRoute = route({ access: 'auth' }, 'listModelli', 'I modelli dei PDF', { response: { 200: TemplateList } })

const getRoute = route({ access: 'auth' }, 'getModello', 'Un modello dei PDF, con le variabili che usa', {
  errorCodes: ['MODELLO_NON_TROVATO'], params: TemplateParams, response: { 200: TemplateResponse, 304: Type.Null() }
})

const saveRoute = route(
  {
    access: 'admin',
    versioned: true,
    headers: { reads: ['If-None-Match'], sends: { Location: [200, 201] } },
    findValidationErrors: savingErrors
  },
  'putModello', 'Salva un modello dei PDF, nuovo o al posto di quello che ha lo stesso id', {
    errorCodes: ['MODELLO_PREDEFINITO', 'MODELLO_CAMBIATO', ...TEMPLATE_ERRORS],
    description:
      'L’id ha 16 cifre esadecimali. Con If-Match si sostituisce solo quella versione; con If-None-Match: * se ne ' +
      'salva solo uno nuovo.',
    params: TemplateParams,
    body: TemplateSaving,
    response: { 200: TemplateSaved(200), 201: TemplateSaved(201), 400: Ref(TemplateFault) }
  }
)

const deleteRoute = route(
  { access: 'admin', versioned: true },
  'deleteModello', 'Elimina un modello dei PDF con le sue versioni; i PDF già creati restano', {
    errorCodes: ['MODELLO_NON_TROVATO', 'MODELLO_PREDEFINITO', 'MODELLO_CAMBIATO'],
    params: TemplateParams,
    response: { 200: TemplateRemoved }
  }
)

const previewRoute = {
  bodyLimit: REPORT_BODY_MAX,
  ...route(
    { access: 'auth', heavy: true }, 'previewModello', 'Il PDF di un modello con i dati di prova; non si conserva', {
      errorCodes: ['MODELLO_NON_TROVATO', ...TEMPLATE_ERRORS, ...PDF_ERRORS],
      params: TemplateParams,
      body: PreviewRequest,
      response: { 200: PdfBytes, 400: Ref(TemplateFault) }
    }
  )
}

const checkRoute = route(
  { access: 'auth', heavy: true },
  'validaModello', 'Controlla un modello dei PDF e dice quali variabili usa, senza salvarlo', {
    body: TemplateCheck, response: { 200: TemplateChecked }
  }
)

const versionsRoute = route(
  { access: 'auth' }, 'listVersioniModello', 'Le versioni di un modello dei PDF, dall’ultima: se ne conservano 50', {
    errorCodes: ['MODELLO_NON_TROVATO'], params: TemplateParams, response: { 200: TemplateVersions }
  }
)

const versionRoute = route(
  { access: 'auth' }, 'getVersioneModello', 'Una versione di un modello dei PDF', {
    errorCodes: ['MODELLO_NON_TROVATO', 'VERSIONE_NON_TROVATA'],
    params: TemplateVersionParams,
    response: { 200: TemplateResponse }
  }
)

/** Routes of PDF templates. Every authenticated caller may read and preview them. Only administrators change them. */
export const templateRoutes: FastifyPluginAsyncTypebox<{ clock: Clock }> = async (app, { clock }) => {
  const { audit, db } = app
  const present = async (reply: FastifyReply, template: StoredTemplate): Promise<Template> => ({
    ...template,
    variabili: await variablesOf(reply, template),
    updated_at: template.updated_at?.toISOString() ?? null
  })
  const variablesOf = variables(app)

  app.get(URL, listRoute, async () => ({
    data: (await listTemplates(db)).map(({ id, nome, predefinito, versione, updated_at }) => ({
      id, nome, predefinito, versione, updated_at: updated_at?.toISOString() ?? null
    }))
  }))

  app.get(`${URL}/:id`, getRoute, async (request, reply) => {
    const template = await findTemplate(db, request.params.id)
    const tag = etag(template.versione)
    reply.header('etag', tag)
    if (!template.predefinito && isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send(null)
    return { data: await present(reply, template) }
  })

  app.put(`${URL}/:id`, saveRoute, async (request, reply) => {
    const { params: { id }, body, headers } = request
    await checkChangeable(id)
    const variabili = await requireSound(app, reply, body)
    const { isNew, ...saved } = await db.transaction(async (tx) => {
      const saved = await saveTemplate(tx, id, { ...body, variabili }, {
        versions: expectedVersions(headers['if-match']), isNew: headers['if-none-match']?.trim() === '*'
      })
      const details = { versione: saved.versione }
      await audit.append(tx, { ...authorOf(request), action: 'modello_salvato', object: `modello:${id}`, details })
      return saved
    })
    const status = isNew ? 201 : 200
    reply.code(status).headers({ etag: etag(saved.versione), location: `${URL}/${id}` })
    return { data: await present(reply, saved), status }
  })

  app.delete(`${URL}/:id`, deleteRoute, async (request) => {
    const { params: { id }, headers } = request
    await checkChangeable(id)
    await db.transaction(async (tx) => {
      await removeTemplate(tx, id, { versions: expectedVersions(headers['if-match']) })
      await audit.append(tx, { ...authorOf(request), action: 'modello_eliminato', object: `modello:${id}` })
    })
    return { message: 'Modello eliminato', status: 200 }
  })

  app.post(`${URL}/:id/preview`, previewRoute, async (request, reply) => {
    const template = await findTemplate(db, request.params.id)
    const pdf = await makeFor(app, reply, previewOf(template, request.body.data, clock.today()))
    warn(reply, pdf)
    return sendPdf(reply, pdf.bytes, `anteprima-${template.id}.pdf`)
  })

  app.post(`${URL}/valida`, checkRoute, (request, reply) => checkTemplate(app, reply, request.body))
}

/** Routes of the stored versions of templates. To restore a version, a client saves its text again. */
export const versionRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { db } = app

  app.get(`${URL}/:id/versioni`, versionsRoute, async (request) => ({
    data: (await listVersions(db, request.params.id)).map(({ updated_at, ...version }) => ({
      ...version, updated_at: updated_at.toISOString()
    }))
  }))

  app.get(`${URL}/:id/versioni/:versione`, versionRoute, async (request) => {
    const { id, versione } = request.params
    const { updated_at, variabili, ...rest } = await findVersion(db, id, versione)
    return { data: { ...rest, variabili: variabili ?? [], updated_at: updated_at?.toISOString() ?? null } }
  })
}
