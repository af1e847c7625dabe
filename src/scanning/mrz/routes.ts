import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ParseMrzAnswer, ParseMrzBody, type ParsedMrz } from '#schemas/scanning.ts'
import type { Clock } from '#src/lib/time.ts'
import { birthPlaceIn } from '../guest/birth-place.ts'
import type { GuestCodes } from '../guest/codes.ts'
import { documentKind } from '../guest/document-kind.ts'
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
      const codes = await app.guestCodes()
      const { ospite, avvisi } = guestOf(parsed, codes, birthPlaceOf(parsed, body.text ?? '', codes))
      return { parsed, ospite, avvisi: [...zoneNotices(zone, today), ...avvisi] }
    }
  })
}

/** Of a card of Italy whose day of birth its digit proves. */
function birthPlaceOf (parsed: ParsedMrz, text: string, codes: GuestCodes) {
  const { documentCode, issuingCountry, birthDate, checks } = parsed
  const isCard = documentKind(documentCode, issuingCountry) === 'electronic-card'
  return isCard && checks.birthDate ? birthPlaceIn(text, birthDate, codes) : undefined
}
