import type { EstablishmentRecord } from '#schemas/establishment-record.ts'
import type { Invio } from '#schemas/invio.ts'
import type { CrossCheckResponse } from '#schemas/receipts.ts'
import type { Today, TodayBooking } from '#schemas/today.ts'
import { staysById } from '#src/bookings/index.ts'
import { addDays, type Clock } from '#src/lib/time.ts'
import { html, type Html } from '#src/lib/html.ts'
import { buttonLink, chip, emptyState, nextLink, NOTHING } from '../desk-layout.ts'
import { dayText, fill, shortInstant, type Desk } from '../desk-page.ts'
import { guestCount, missingWords } from '../missing-words.ts'
import { policeTexts } from '../texts/police-texts.ts'
import { submissionTexts } from '../texts/submission-texts.ts'
import { CHECK } from './send-day-screen.ts'

/** Number of days whose arrivals are compared with receipts. The police service keeps receipts for 30 days. */
const DAYS = 30
/** A deadline is amber when less time than this remains. */
export const URGENT_MS = 6 * 3_600_000
const MAX_SUBMISSIONS = 50

/** A booking with guests whom the police do not have. */
export interface Open {
  booking: number
  name: string
  /** The establishment of its unit, if there are several. */
  establishment: number | undefined
  /** The day of the arrival, or of the first night that was not declared. */
  day: string
  isProlonged: boolean
  guests: number
  deadline: string
  isOverdue: boolean
}

/** The bookings and submissions that a person must still settle with the police. */
export interface PoliceDue {
  /** Sorted by deadline. */
  open: Open[]
  undecided: Invio[]
  /** The names of bookings, by id. */
  names: ReadonlyMap<number, string>
  /** The names of establishments, by id. */
  houses: ReadonlyMap<number | undefined, string>
  check: CrossCheckResponse
  /** The state and the remarks of bookings whose arrival the service still accepts. */
  known: ReadonlyMap<number, TodayBooking>
}

export async function readPoliceDue (desk: Desk, clock: Clock): Promise<PoliceDue> {
  const today = clock.today()
  const [check, unknown, doubtful] = await Promise.all([
    desk.call<CrossCheckResponse>({
      method: 'GET', url: `/api/alloggiati/verifica-ricevute?da=${addDays(today, -DAYS)}`
    }),
    ...(['sconosciuto', 'da_verificare'] as const).map((stato) => desk.call<{ data: Invio[] }>({
      method: 'GET', url: `/api/v1/invii?stato=${stato}&limit=${MAX_SUBMISSIONS}`
    }))
  ])
  const undecided = [...unknown!.body.data, ...doubtful!.body.data]
  const open = openBookings(check.body, clock)
  const days = [...new Set(open.map(({ day }) => day).filter((day) => isAccepted(day, today)))]
  const [names, houses, ...states] = await Promise.all([
    namesOf(desk, undecided),
    desk.call<{ data: EstablishmentRecord[] }>({ method: 'GET', url: '/api/v1/strutture' }),
    ...days.map((day) => desk.call<{ data: Today }>({ method: 'GET', url: `/api/v1/oggi?giorno=${day}` }))
  ])
  const known = new Map(states
    .flatMap(({ body: { data: { arrivi, in_casa: inHouse } } }) => [...inHouse, ...arrivi])
    .map((each) => [each.id, each]))
  const houseNames = new Map(houses.body.data.map(({ id, nome }) => [id, nome ?? String(id)]))
  return { open, undecided, names, houses: houseNames, check: check.body, known }
}

/** The names of the bookings of submissions. */
export async function namesOf (
  { request: { server: { db } } }: Desk, submissions: readonly Invio[]
): Promise<ReadonlyMap<number, string>> {
  const ids = [...new Set(submissions.flatMap(({ prenotazione_id: id }) => id ?? []))]
  const stays = ids.length === 0 ? [] : await staysById(db, ids)
  return new Map(stays.map(({ id, nome_cognome: name }) => [id, name]))
}

function openBookings ({ mancanti, proroghe }: CrossCheckResponse, clock: Clock): Open[] {
  const now = clock.now().toISOString()
  const one = (
    each: CrossCheckResponse['mancanti'][number], day: string, isProlonged: boolean
  ): Open => ({
    booking: each.prenotazione_id,
    name: each.nome_cognome,
    establishment: each.struttura_id,
    day,
    isProlonged,
    guests: each.ospiti_mancanti,
    deadline: each.scadenza,
    isOverdue: each.scadenza < now
  })
  return [
    ...mancanti.map((each) => one(each, each.check_in, false)),
    ...proroghe.map((each) => one(each, each.dal, true))
  ].sort((a, b) => a.deadline < b.deadline ? -1 : 1)
}

/** The service accepts arrivals of today and yesterday. */
function isAccepted (day: string, today: string): boolean {
  return day === today || day === addDays(today, -1)
}

/** The section with the tasks of a person, and the section with the bookings that wait for a receipt. */
export function openSection (desk: Desk, clock: Clock, due: PoliceDue): Html {
  const texts = policeTexts[desk.language]
  const { open, undecided, check: { in_attesa: awaited, discordanze: differing } } = due
  const rows = [
    ...undecided.map((each) => undecidedRow(desk, each, due.names)),
    ...open.slice(0, MAX_SUBMISSIONS).map((each) => openRow(desk, clock, each, due))
  ]
  const list = rows.length === 0 && differing.length === 0
    ? emptyState(texts.nothingToDo)
    : html`<ol class="rows timed">\n${rows}${differing.map((each) => differingRow(desk, each))}</ol>`
  return html`<section aria-labelledby="adesso"><h2 id="adesso">${texts.toDo}</h2>\n${list}</section>
${awaited.length === 0 ? NOTHING : waitingSection(desk, awaited)}`
}

function openRow (desk: Desk, clock: Clock, open: Open, { known, houses }: PoliceDue): Html {
  const texts = policeTexts[desk.language]
  const { booking, name, day, isProlonged, establishment } = open
  const page = `/prenotazioni/${booking}`
  const arrival = fill(isProlonged ? texts.prolonged : texts.arrival, dayText(desk, day))
  const details = [arrival, guestCount(desk, open.guests), houses.get(establishment)]
  const state = known.get(booking)
  const isTooLate = !isAccepted(day, clock.today()) && !isProlonged
  const isReady = state?.mancano.length === 0 || isProlonged
  const reasons = state === undefined ? [] : reasonLinks(desk, state)
  const next = isTooLate
    ? buttonLink(`/polizia/pec/${booking}`, texts.byMail, { about: name })
    : isReady
      ? buttonLink(`${CHECK}?giorno=${day}&prenotazione=${booking}`, texts.send, { isMain: true, about: name })
      : buttonLink(page, texts.complete, { about: name })
  return html`<li>
<span class="unit">${deadlineText(desk, clock, open.deadline)}</span>
<a class="who" href="${page}">${name}<small>${details.filter((part) => part !== undefined).join(' · ')}</small></a>
<span class="chips">${isTooLate ? html`<span>${texts.tooLate}</span>` : reasons}</span>
${next}</li>
`
}

/** The data that a booking lacks, each with a link to the field of the first guest concerned. */
function reasonLinks (desk: Desk, { id, registrazione, numero_ospiti: guests, mancano }: TodayBooking): Html[] {
  return [...Map.groupBy(mancano, ({ campo }) => campo)].flatMap(([campo, errors]) =>
    missingWords(desk, { isIncomplete: registrazione === 'incompleta', guests, errors }).map((text) =>
      html`<a class="reason" href="/prenotazioni/${id}#f-dati-${errors[0]!.ospite}-${campo}">${text}</a>`))
}

function undecidedRow (desk: Desk, invio: Invio, names: ReadonlyMap<number, string>): Html {
  const texts = policeTexts[desk.language]
  const { id, stato, scadenza, data_arrivo: day, numero_schedine: guests } = invio
  const name = nameOf(desk, invio, names)
  return html`<li>
<span class="unit">${fill(texts.by, shortInstant(desk, scadenza))}</span>
<a class="who" href="/polizia/invii/${id}">${name}<small>${
  fill(texts.arrival, dayText(desk, day))} · ${guestCount(desk, guests)}</small></a>
<span class="chips">${chip(submissionTexts[desk.language][stato], 'need')}</span>
${buttonLink(`/polizia/invii/${id}`, texts.decide, { isMain: true, about: name })}</li>
`
}

/** The name of a submission's booking, or its reference. */
export function nameOf (
  desk: Desk, { prenotazione_id: id, ricevuta }: Invio, names: ReadonlyMap<number, string>
): string {
  if (id === null) return ricevuta
  return names.get(id) ?? fill(policeTexts[desk.language].booking, id)
}

/** The deadline, and in the last six hours before it the remaining time. */
function deadlineText (desk: Desk, clock: Clock, deadline: string): Html {
  const texts = policeTexts[desk.language]
  const ms = Date.parse(deadline) - clock.now().getTime()
  const when = shortInstant(desk, deadline)
  if (ms < 0) return html`<b class="act-now">${fill(texts.overdue, when)}</b>`
  if (ms > URGENT_MS) return html`${fill(texts.by, when)}`
  const minutes = Math.floor(ms / 60_000)
  const left = `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return html`<b class="act-now">${fill(texts.by, when)} · ${fill(texts.left, left)}</b>`
}

function differingRow (
  desk: Desk, { giorno, inviate, in_ricevuta: receipted }: CrossCheckResponse['discordanze'][number]
): Html {
  const texts = policeTexts[desk.language]
  const receipt = fill(texts.receiptOf, dayText(desk, giorno))
  return html`<li>
<span class="unit">${dayText(desk, giorno)}</span>
<span class="who">${receipt}<small>${fill(texts.discrepancy, inviate)}, ${
  fill(texts.onReceipt, receipted)}</small></span>
<span>${texts.discrepancyText}</span>
${nextLink(`/polizia/ricevute/${giorno}`, texts.receipt, dayText(desk, giorno))}</li>
`
}

/** The bookings that wait for a receipt, by day and reason. They need no action. */
function waitingSection (desk: Desk, awaited: CrossCheckResponse['in_attesa']): Html {
  const texts = policeTexts[desk.language]
  const groups = Map.groupBy(awaited, ({ giorno = '', motivo = '' }) => `${giorno} ${motivo}`)
  const rows = [...groups.values()].map((group) => {
    const { giorno, motivo = 'non_ancora_emessa' } = group[0]!
    const guests = group.reduce((sum, { ospiti_mancanti: n }) => sum + n, 0)
    const title = giorno === undefined ? texts[motivo] : fill(texts.receiptOf, dayText(desk, giorno))
    return html`<li><b>${title}</b> <span class="hint">${guestCount(desk, guests)}</span>${
      giorno === undefined ? NOTHING : html`<br>${texts[motivo]}`}</li>\n`
  })
  return html`<section aria-labelledby="attesa"><h2 id="attesa">${texts.waiting}</h2>
<ul class="log">${rows}</ul></section>
`
}
