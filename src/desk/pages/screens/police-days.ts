import type { Invio } from '#schemas/invio.ts'
import { isDecidable, type State } from '#schemas/submission.ts'
import { addDays } from '#src/lib/time.ts'
import { html, type Html } from '#src/lib/html.ts'
import { buttonLink, chip, emptyState, nextLink, NOTHING } from '../desk-layout.ts'
import { dayText, fill, shortInstant, type Desk } from '../desk-page.ts'
import { guestCount } from '../missing-words.ts'
import { policeTexts } from '../texts/police-texts.ts'
import { submissionTexts } from '../texts/submission-texts.ts'
import { nameOf, namesOf } from './police-due.ts'

interface Range { from: string, until: string, today: string }

/** States shown as done. */
const DONE: readonly State[] = ['acquisito', 'ricevuto', 'depositato_altrove', 'annullato']

/** The submissions of the arrivals of some days, by day. */
export async function submissionsSection (desk: Desk, { from, until, today }: Range): Promise<Html> {
  const texts = policeTexts[desk.language]
  const { body: { data } } = await desk.call<{ data: Invio[] }>({
    method: 'GET', url: `/api/v1/invii?da=${from}&a=${until}&limit=500&conteggio=false`
  })
  const names = await namesOf(desk, data)
  const days = [...Map.groupBy(data, ({ data_arrivo: day }) => day)].sort(([a], [b]) => a < b ? 1 : -1)
  const content = days.length === 0
    ? emptyState(texts.noSubmissions)
    : html`${days.map(([day, submissions]) => html`<h3 id="g-${day}">${
      dayText(desk, day, { weekday: 'long', day: 'numeric', month: 'long' })}</h3>
<ol class="rows timed">\n${submissions.map((each) => submissionRow(desk, each, names))}</ol>\n`)}`
  const later = until < today ? buttonLink(`/polizia?a=${addDays(until, 14)}#invii`, texts.later) : NOTHING
  return html`<section aria-labelledby="invii"><h2 id="invii">${texts.submissions}</h2>
<p class="hint">${fill(texts.days, dayText(desk, from))} ${fill(texts.until, dayText(desk, until))}</p>
${content}<p class="actions">${
  buttonLink(`/polizia?a=${addDays(from, -1)}#invii`, texts.earlier)}${later}</p></section>
`
}

function submissionRow (desk: Desk, invio: Invio, names: ReadonlyMap<number, string>): Html {
  const { id, stato, ricevuta, numero_schedine: guests, creato_il: at } = invio
  const page = `/polizia/invii/${id}`
  const name = nameOf(desk, invio, names)
  const isDone = DONE.includes(stato)
  const kind = isDecidable(stato) ? 'need' : isDone ? 'ok' : undefined
  return html`<li${isDone ? html` class="done"` : NOTHING}>
<span class="unit">${shortInstant(desk, at)}</span>
<a class="who" href="${page}">${name}<small>${guestCount(desk, guests)}${
  name === ricevuta ? '' : ` · ${ricevuta}`}</small></a>
<span class="chips">${chip(submissionTexts[desk.language][stato], kind)}</span>
${nextStep(desk, invio, page, name)}</li>
`
}

function nextStep (desk: Desk, { stato }: Invio, page: string, name: string): Html {
  const texts = policeTexts[desk.language]
  const [href, text] = stato === 'ricevuto'
    ? [`${page}/ricevuta`, texts.receipt]
    : [page, isDecidable(stato) ? texts.decide : texts.open]
  return nextLink(href, text, name)
}
