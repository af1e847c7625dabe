import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { BOOKING_STATES, type Booking } from '#schemas/booking.ts'
import { html, type Html } from '#src/lib/html.ts'
import { bookingPage, bookingRows, type BookingRow } from '../booking-rows.ts'
import { fieldsHtml } from '../desk-fields.ts'
import { alarm, buttonLink, chip, emptyState, NOTHING, refusalText, showDesk } from '../desk-layout.ts'
import { unitOptions } from '../desk-options.ts'
import { dayText, deskPage, openDesk, Refusal, type Answer, type Desk, type DeskOptions } from '../desk-page.ts'
import type { Attempt, DeskField, Option, Values } from '../field-types.ts'
import { refusedAttempt } from '../desk-form.ts'
import { counted, guestCount, nightCount } from '../missing-words.ts'
import { bookingListTexts } from '../texts/booking-list-texts.ts'

const LIST = '/prenotazioni'
const NEW = '/prenotazioni/nuova'
const PER_PAGE = '50'
/** The option of the units for bookings without a unit. */
const NO_UNIT = 'nessuna'

const NAMES = ['q', 'check_in_da', 'check_in_a', 'stato', 'unita_id'] as const

const text = Type.Optional(Type.String({ maxLength: 200 }))
const ListQuery = { q: text, check_in_da: text, check_in_a: text, stato: text, unita_id: text, cursor: text }

/** Prenotazioni: the list of bookings with its filters. Without a filter it begins with the arrivals of today. */
const bookingListScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  app.get(LIST, deskPage('getPaginaPrenotazioni', 'L’elenco delle prenotazioni', {
    query: ListQuery
  }), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const { query } = request
    const isFiltered = NAMES.some((name) => query[name] !== undefined)
    return await showList(desk, isFiltered ? query : { check_in_da: clock.today() }, query.cursor)
  })
}
export default bookingListScreen

async function showList (desk: Desk, values: Values, cursor: string | undefined): Promise<FastifyReply> {
  const texts = bookingListTexts[desk.language]
  const units = await unitOptions(desk)
  const found = await readPage(desk, values, cursor)
  const isRefused = found instanceof Refusal
  const attempt: Attempt = isRefused ? refusedAttempt(values, found.body) : { values }
  return showDesk(desk, {
    title: texts.title,
    isFaulty: isRefused,
    status: isRefused ? found.body.status : 200,
    actions: html`<p class="meta">${isRefused || found.total === undefined
      ? NOTHING
      : counted(found.total, texts.foundOne, texts.foundMany)}</p>${buttonLink(NEW, desk.texts.newBooking)}`,
    content: html`${isRefused && attempt.errors?.size === 0 ? alarm(refusalText(desk, found.body)) : NOTHING}${
      filterForm(desk, units, attempt)}${isRefused ? NOTHING : pageOf(desk, units, found, values, cursor)}`
  })
}

/** A page of the list, or the refusal of a filter. */
async function readPage (
  desk: Desk, values: Values, cursor: string | undefined
): Promise<Answer<{ data: Booking[] }> | Refusal> {
  const { unita_id: unit, ...rest } = filled(values)
  const query = new URLSearchParams({
    ...rest,
    ...unit === NO_UNIT ? { senza_unita: 'true' } : unit === undefined ? {} : { unita_id: unit },
    // The earliest arrival is first. Without a first day, the latest arrival is first.
    sort: rest.check_in_da === undefined ? '-check_in' : 'check_in',
    limit: PER_PAGE,
    ...cursor !== undefined && { cursor }
  })
  try {
    return await desk.call<{ data: Booking[] }>({ method: 'GET', url: `/api/v1/prenotazioni?${query}` })
  } catch (err) {
    if (err instanceof Refusal && err.body.status === 400) return err
    throw err
  }
}

/** The filters that are filled in. */
function filled (values: Values): Record<string, string> {
  return Object.fromEntries(NAMES.flatMap((name) => {
    const value = values[name]?.trim() ?? ''
    return value === '' ? [] : [[name, value]]
  }))
}

function filterForm (desk: Desk, units: readonly Option[], attempt: Attempt): Html {
  const texts = bookingListTexts[desk.language]
  const states = BOOKING_STATES.map((value) => ({ value, label: texts[value] }))
  const types = {
    q: { type: 'search' },
    check_in_da: { type: 'date' },
    check_in_a: { type: 'date' },
    stato: { type: 'select', options: [...states], none: texts.anyState },
    unita_id: { type: 'select', options: [{ value: NO_UNIT, label: texts.noUnit }, ...units], none: texts.anyUnit }
  } as const
  const fields = NAMES.map((name): DeskField => {
    const { none = '', ...rest }: Partial<DeskField> & { none?: string } = types[name]
    return { name, label: texts[name], ...rest, ...none !== '' && { none } }
  })
  const [search, ...others] = fields
  const given = desk.request.query as Values
  const isOpen = attempt.refusal !== undefined || others.some(({ name }) => (given[name] ?? '') !== '')
  return html`<form class="filters" method="get" action="${LIST}">
${fieldsHtml([search!], attempt, desk)}<button>${texts.filter}</button>
<details${isOpen ? html` open` : NOTHING}><summary>${texts.filters}</summary><div class="fields">
${fieldsHtml(others, attempt, desk)}</div></details>
</form>
<p class="views"><a href="${LIST}">${texts.upcoming}</a> <a href="${LIST}?q=">${texts.all}</a> <a
  href="${LIST}?unita_id=${NO_UNIT}&amp;stato=confermata">${texts.noUnit}</a></p>
`
}

function pageOf (
  desk: Desk, units: readonly Option[], { body: { data }, nextCursor }: Answer<{ data: Booking[] }>, values: Values,
  cursor: string | undefined
): Html {
  const texts = bookingListTexts[desk.language]
  if (data.length === 0) {
    const isPlain = desk.request.url.split('?')[1] === undefined
    return isPlain
      ? emptyState(texts.empty, buttonLink(NEW, desk.texts.newBooking, { isMain: true }))
      : emptyState(texts.noneFound, buttonLink(`${LIST}?q=`, texts.showAll))
  }
  const pageAt = (at?: string) => `${LIST}?${new URLSearchParams({
    q: '', ...filled(values), ...at !== undefined && { cursor: at }
  })}`
  const links = [
    ...cursor === undefined ? [] : [buttonLink(pageAt(), texts.first)],
    ...nextCursor === undefined ? [] : [buttonLink(pageAt(nextCursor), texts.more)]
  ]
  return html`${bookingRows(data.map((booking) => rowOf(desk, units, booking)))}${links.length === 0
    ? NOTHING
    : html`<nav class="foot" aria-label="${texts.pages}">${links}</nav>\n`}`
}

function rowOf (desk: Desk, units: readonly Option[], booking: Booking): BookingRow {
  const texts = bookingListTexts[desk.language]
  const { id, nome_cognome: name, check_in: arrival, stato, canale, idf_gen: code, unita_id: unitId } = booking
  const unit = units.find(({ value }) => value === String(unitId))?.label
  return {
    first: dayText(desk, arrival),
    name,
    about: [
      nightCount(desk, booking.numero_notti),
      guestCount(desk, booking.numero_ospiti),
      code ?? ''
    ],
    href: bookingPage(id),
    chips: [
      ...stato === 'confermata' ? [] : [chip(texts[stato])],
      chip(unit ?? texts.noUnit),
      ...canale === null ? [] : [chip(canale)]
    ],
    next: { word: texts.open, href: bookingPage(id) },
    isDone: stato !== 'confermata'
  }
}
