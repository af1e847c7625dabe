import type { Invio, InvioDetail } from '#schemas/invio.ts'
import type { Day } from '#src/lib/time.ts'
import type { Desk } from './desk-page.ts'

/** Maximum bookings whose reasons are read. Each needs two calls. */
const MAX_BOOKINGS = 20

/** The reason why guests were not acquired. */
export interface RefusalReason {
  /** Whether the service refused the guests. Otherwise they were not sent. */
  isRefused: boolean
  text: string
}

/** The reasons why guests were not acquired, by booking. */
export async function refusalReasons (
  desk: Desk, day: Day, bookings: readonly number[]
): Promise<Map<number, RefusalReason>> {
  const reasons = new Map<number, RefusalReason>()
  for (const id of bookings.slice(0, MAX_BOOKINGS)) {
    const reason = await latestReason(desk, day, id)
    if (reason !== undefined) reasons.set(id, reason)
  }
  return reasons
}

async function latestReason (desk: Desk, day: Day, booking: number): Promise<RefusalReason | undefined> {
  const query = new URLSearchParams({ prenotazione_id: String(booking), da: day, a: day, limit: '1' })
  const { body: { data } } = await desk.call<{ data: Invio[] }>({ method: 'GET', url: `/api/v1/invii?${query}` })
  const [latest] = data
  if (latest === undefined) return undefined
  const { body } = await desk.call<{ data: InvioDetail }>({ method: 'GET', url: `/api/v1/invii/${latest.id}` })
  const { stato, nota, righe } = body.data
  if (stato === 'non_inviato' && nota !== null) return { isRefused: false, text: nota }
  const refused = righe.find(({ esito }) => esito === 'rifiutata')
  const text = refused?.dettaglio ?? refused?.messaggio_soap
  return text == null ? undefined : { isRefused: true, text }
}
