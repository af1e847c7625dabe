import type { SuspensionState } from '#schemas/decisions.ts'
import type { JobList } from '#schemas/job.ts'
import type { WaitReason } from '#schemas/receipts.ts'
import type { Webhook } from '#schemas/webhook.ts'
import type { Html } from '#src/lib/html.ts'
import type { Clock } from '#src/lib/time.ts'
import { actionForm } from '../desk-form.ts'
import { buttonLink, NOTHING, refusalText } from '../desk-layout.ts'
import { dayText, fill, instantText, isAdministrator, Refusal, type Desk } from '../desk-page.ts'
import { guestCount } from '../missing-words.ts'
import { noticeTexts } from '../texts/notice-texts.ts'
import { policeTexts } from '../texts/police-texts.ts'
import { readPoliceDue, nameOf, URGENT_MS } from './police-due.ts'

export const NOTICES = '/avvisi'

/** A problem, with its consequence and at most one button. */
export interface Notice {
  title: string
  /** Instant at which the problem began. */
  since?: string | undefined
  text: string
  action: Html
  /** The notice is advice, because the service still works. */
  isAdvice?: boolean
}

/** The backup job becomes a notice when its last run started longer ago than this. */
const OLD_MS = 48 * 3_600_000

/** Reasons for a missing receipt that become a notice. */
const NOTICED_REASONS: readonly WaitReason[] = [
  'credenziali_rifiutate', 'credenziali_mancanti', 'ricevuta_scaduta', 'servizio_non_raggiungibile'
]

/** The notices for the person. Operators get no notices about jobs, backups and webhooks. */
export async function findNotices (desk: Desk, clock: Clock): Promise<Notice[]> {
  const isAdmin = await isAdministrator(desk)
  const closed = await maintenance(desk, isAdmin)
  // During maintenance the routes respond only to administrators.
  if (closed.length > 0 && !isAdmin) return closed
  const found = await Promise.all([
    closed,
    suspension(desk),
    police(desk, clock),
    readiness(desk),
    ...isAdmin ? [jobs(desk, clock), webhooks(desk)] : []
  ])
  return found.flat().sort((a, b) => Number(a.isAdvice ?? false) - Number(b.isAdvice ?? false))
}

async function suspension (desk: Desk): Promise<Notice[]> {
  const texts = policeTexts[desk.language]
  const { body } = await desk.call<SuspensionState>({ method: 'GET', url: '/api/v1/invii/sospensione' })
  if (!body.sospeso) return []
  const words = noticeTexts[desk.language]
  return [{
    title: texts.suspended,
    since: body.dal ?? undefined,
    text: `${words.suspended} ${texts.reason}: ${body.motivo ?? ''}`,
    action: buttonLink('/polizia#sospensione', words.openPolice, { isMain: true })
  }]
}

async function police (desk: Desk, clock: Clock): Promise<Notice[]> {
  const texts = noticeTexts[desk.language]
  const { open, undecided, names, check } = await readPoliceDue(desk, clock)
  const now = clock.now().getTime()
  const urgent = open.filter(({ deadline }) => Date.parse(deadline) - now < URGENT_MS)
  const [first] = urgent
  const guests = urgent.reduce((sum, each) => sum + each.guests, 0)
  const deadline: Notice[] = first === undefined
    ? []
    : [{
        title: fill(texts.deadline, guestCount(desk, guests)),
        text: `${fill(first.isOverdue ? texts.overdue : texts.next, instantText(desk, first.deadline))} ${
          texts.deadlineText}`,
        action: buttonLink('/polizia#adesso', texts.openPolice, { isMain: true })
      }]
  return [
    ...deadline,
    ...undecided.map((each): Notice => ({
      title: fill(texts.undecided, nameOf(desk, each, names)),
      since: each.aggiornato_il,
      text: texts.undecidedText,
      action: buttonLink(`/polizia/invii/${each.id}`, policeTexts[desk.language].decide, { about: each.ricevuta })
    })),
    ...check.discordanze.map(({ giorno, inviate, in_ricevuta: counted }): Notice => ({
      title: fill(texts.differing, dayText(desk, giorno)),
      text: `${fill(policeTexts[desk.language].discrepancy, inviate)}, ${
        fill(policeTexts[desk.language].onReceipt, counted)}. ${policeTexts[desk.language].discrepancyText}`,
      action: buttonLink(`/polizia/ricevute/${giorno}`, policeTexts[desk.language].receipt, {
        about: dayText(desk, giorno)
      })
    })),
    ...missingReceipts(desk, check.in_attesa)
  ]
}

function missingReceipts (desk: Desk, awaited: readonly { giorno?: string, motivo?: WaitReason }[]): Notice[] {
  const texts = policeTexts[desk.language]
  const noticed = awaited.filter(({ motivo }) => motivo !== undefined && NOTICED_REASONS.includes(motivo))
  return [...Map.groupBy(noticed, ({ motivo }) => motivo!)].map(([reason, group]) => {
    const days = [...new Set(group.flatMap(({ giorno }) => giorno ?? []))].sort()
    return {
      title: fill(texts.receiptOf, days.map((day) => dayText(desk, day)).join(', ')),
      text: texts[reason],
      action: buttonLink('/polizia#attesa', noticeTexts[desk.language].openPolice, { about: texts[reason] })
    }
  })
}

async function readiness (desk: Desk): Promise<Notice[]> {
  const texts = noticeTexts[desk.language]
  try {
    await desk.call({ method: 'GET', url: '/health/ready' })
    return []
  } catch (err) {
    if (!(err instanceof Refusal)) throw err
    const isFull = err.body.codice === 'SPAZIO_ESAURITO'
    return [{
      title: isFull ? texts.diskFull : texts.notReady,
      text: isFull ? texts.diskFullText : refusalText(desk, err.body),
      action: buttonLink(NOTICES, texts.lookAgain)
    }]
  }
}

async function maintenance (desk: Desk, isAdmin: boolean): Promise<Notice[]> {
  const texts = noticeTexts[desk.language]
  // Read directly, because the route refuses operators during maintenance.
  const { maintenance: { enabled, since, message } } = await desk.request.server.settings.current()
  if (!enabled) return []
  return [{
    title: texts.maintenance,
    since: since ?? undefined,
    text: `${texts.maintenanceText} ${message ?? ''}`,
    action: isAdmin
      ? actionForm(desk, { action: `${NOTICES}/manutenzione`, button: texts.endMaintenance, isMain: true })
      : NOTHING
  }]
}

async function jobs (desk: Desk, clock: Clock): Promise<Notice[]> {
  const texts = noticeTexts[desk.language]
  const { body: { data } } = await desk.call<JobList>({ method: 'GET', url: '/api/v1/jobs' })
  const start = (name: string) => actionForm(desk, {
    action: `${NOTICES}/lavori/${name}`, button: texts.startNow, about: name
  })
  const failed = data.filter(({ esito, in_corso: isRunning }) => esito === 'fallito' && !isRunning)
  const backup = data.find(({ nome }) => nome === 'backup')
  const last = backup?.ultimo_avvio ?? null
  const isOld = backup !== undefined && (last === null || clock.now().getTime() - Date.parse(last) > OLD_MS)
  return [
    ...failed.map(({ nome, descrizione, errore, ultimo_avvio: since, prossimo_avvio: next }): Notice => ({
      title: fill(texts.failed, descrizione),
      since: since ?? undefined,
      text: `${fill(texts.failedText, instantText(desk, next))} ${errore ?? ''}`,
      action: start(nome)
    })),
    ...backup === undefined
      ? [{ title: texts.noBackup, text: texts.noBackupText, action: NOTHING, isAdvice: true }]
      : [],
    ...isOld && !failed.includes(backup)
      ? [{
          title: texts.oldBackup,
          since: last ?? undefined,
          text: texts.oldBackupText,
          action: start('backup'),
          isAdvice: true
        }]
      : []
  ]
}

async function webhooks (desk: Desk): Promise<Notice[]> {
  const texts = noticeTexts[desk.language]
  const { body: { data } } = await desk.call<{ data: Webhook[] }>({ method: 'GET', url: '/api/v1/webhooks' })
  return data.filter(({ stato }) => stato === 'sospeso').map(({ id, url, sospeso_il: since }) => ({
    title: fill(texts.webhook, url),
    since: since ?? undefined,
    text: texts.webhookText,
    action: actionForm(desk, { action: `${NOTICES}/webhook/${id}`, button: texts.activate, about: url })
  }))
}
