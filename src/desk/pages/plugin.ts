import type { FastifyPluginAsync } from 'fastify'
import { wantsPage } from '#src/lib/accept-headers.ts'
import { RisorsaNonTrovata } from '#src/lib/errors.ts'
import { pageForms } from '#src/identity/index.ts'
import { serveAssets } from './desk-assets.ts'
import { showDeskError } from './desk-errors.ts'
import { deskPage, type DeskOptions } from './desk-page.ts'
import { liveStream } from './live.ts'
import bookingFormScreen from './screens/booking-form-screen.ts'
import bookingListScreen from './screens/booking-list-screen.ts'
import bookingScreen from './screens/booking-screen.ts'
import calendarScreen from './screens/calendar-screen.ts'
import dataScreen from './screens/data-screen.ts'
import depositScreen from './screens/deposit-screen.ts'
import establishmentScreen from './screens/establishment-screen.ts'
import handoverScreen from './screens/handover-screen.ts'
import letterheadScreen from './screens/letterhead-screen.ts'
import lettersScreen from './screens/letters-screen.ts'
import noticesScreen from './screens/notices-screen.ts'
import peopleScreen from './screens/people-screen.ts'
import phoneScreen from './screens/phone-screen.ts'
import policeScreen from './screens/police-screen.ts'
import reportsScreen from './screens/reports-screen.ts'
import scanScreen from './screens/scan-screen.ts'
import searchScreen from './screens/search-screen.ts'
import sendDayScreen from './screens/send-day-screen.ts'
import settingsScreen from './screens/settings-screen.ts'
import startScreen from './screens/start-screen.ts'
import submissionScreen from './screens/submission-screen.ts'
import todayScreen from './screens/today-screen.ts'
import unitScreen from './screens/unit-screen.ts'
import webhooksScreen from './screens/webhooks-screen.ts'

/** The screens, each a plugin of one file that registers the routes of its pages and forms. */
const SCREENS: readonly FastifyPluginAsync<DeskOptions>[] = [
  todayScreen, startScreen, sendDayScreen, calendarScreen, bookingListScreen, bookingFormScreen, bookingScreen,
  scanScreen, handoverScreen, phoneScreen, policeScreen, submissionScreen, depositScreen, lettersScreen, reportsScreen,
  noticesScreen, searchScreen, settingsScreen, establishmentScreen, unitScreen, peopleScreen, letterheadScreen,
  dataScreen, webhooksScreen
]

/**
 * The pages of the desk, with which a person does the day's work in a browser. A page reads and writes through the
 * routes of the API, in process, and works without scripts. Only the embedded identity provider has sign-in pages, so
 * the pages need it.
 */
const deskPages: FastifyPluginAsync<DeskOptions> = async (app, options) => {
  if (app.identity.config.IDP_URL !== undefined) return
  app.unknownPage.show = showDeskError
  app.get('/', deskPage('getHome', 'Porta alla prima pagina'), async (request, reply) => {
    if (!wantsPage(request)) throw new RisorsaNonTrovata()
    return await reply.header('vary', 'accept').redirect('/oggi', 303)
  })
  await app.register(async (pages) => {
    await pages.register(pageForms)
    pages.setErrorHandler(showDeskError)
    serveAssets(pages)
    await pages.register(liveStream)
    for (const screen of SCREENS) await pages.register(screen, options)
  })
}
export default deskPages
