import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ParseMrzAnswer, ParseMrzBody } from '#schemas/scanning.ts'
import type { Clock } from '#src/lib/time.ts'
import { guestOf } from '../guest/guest.ts'
import { checkLines } from './lines.ts'
import { zoneNotices } from './notices.ts'
import { parseZone } from './parse.ts'
import { present } from './present.ts'

/** Lines of zones: what they say. Nothing is stored. */
export const mrzRoutes: FastifyPluginAsyncTypebox<{ clock: Clock }> = async (app, { clock }) => {
  app.route({
    method: 'POST',
    url: '/api/mrz/parse',
    config: { access: 'auth' },
    schema: {
      operationId: 'parseMrz',
      tags: ['Scansione'],
      summary: 'Legge le righe della zona a lettura ottica di un documento',
      body: ParseMrzBody,
      response: { 200: ParseMrzAnswer }
    },
    handler: async ({ body }) => {
      const { layout, lines } = checkLines(body.lines)
      const today = clock.today()
      const zone = parseZone(layout, lines, today)
      const parsed = present(zone)
      const { ospite, avvisi } = guestOf(parsed, await app.guestCodes())
      return { parsed, ospite, avvisi: [...zoneNotices(zone, today), ...avvisi] }
    }
  })
}
