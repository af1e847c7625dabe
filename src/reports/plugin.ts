import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { PdfMade } from '#schemas/pdf.ts'
import { Template, TemplateFault, TemplateItem } from '#schemas/template.ts'
import { csvRoutes, generateRoutes, type GenerateOptions } from './generate-routes.ts'
import { listRoutes } from './list-routes.ts'
import { templateRoutes, versionRoutes } from './templates/routes.ts'

/** PDFs from templates, financial reports, and the list of stored PDFs. */
const reports: FastifyPluginAsyncTypebox<GenerateOptions> = async (app, { config, clock }) => {
  for (const schema of [PdfMade, Template, TemplateFault, TemplateItem]) app.addSchema(schema)
  await app.register(generateRoutes, { config, clock })
  await app.register(csvRoutes, { config, clock })
  await app.register(listRoutes, { config })
  await app.register(templateRoutes, { clock })
  await app.register(versionRoutes)
}
export default reports
