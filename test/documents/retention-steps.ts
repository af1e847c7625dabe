import type { Test } from 'tap'
import type { HeldData } from '#schemas/privacy.ts'
import type { Schedina } from '#schemas/schedina.ts'
import type { Clock, Day } from '#src/lib/time.ts'
import { single, today } from '#test/alloggiati/rules/samples.ts'
import { BOOKINGS, create, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { build, type TestApp } from '#test/helper.ts'
import { jpeg } from '#test/services/images/pictures.ts'
import { runJob } from '#test/run-job.ts'
import { store } from '#test/storage/samples.ts'

/* Steps of the tests about retention: bookings with images, submissions, receipts, and the job that deletes images. */

/** The day of the receipts in the tests: the day after the arrival. */
export const RECEIPT_DAY = '2026-11-22'

/** A guest with this name. The document number contains the name. */
export const guest = (nome: string): Schedina => single({ nome, numero_documento: `CA00${nome}` })

/** A server on the day of the arrival. `on` changes the day of the server's clock, and returns the server. */
export async function retentionServer (t: Test, environ: Record<string, string> = {}) {
  let day = testClock(today)
  const clock: Clock = { now: () => day.now(), today: () => day.today() }
  const first = await build(t, environ, undefined, { clock })
  const on = (to: Day) => {
    day = testClock(to)
    return first
  }
  return { first, on }
}

/** The image of every document. It is encoded once, because its content does not matter. */
const image = await jpeg()

/** Creates a booking with saved guests who arrive today, and images of both sides of each document. Returns its id. */
export async function booked ({ app, call }: TestApp, guests: readonly Schedina[], numero_ospiti = guests.length) {
  const { id } = await create(call, { check_in: today, numero_notti: 2, numero_ospiti })
  await save({ call }, id, guests)
  for (const place of guests.keys()) {
    for (const side of ['front', 'back']) await store({ app }, 'documents', `${id}/${place}/${side}.jpg`, image)
  }
  return id
}

export async function save ({ call }: Pick<TestApp, 'call'>, id: number, guests: readonly Schedina[]): Promise<void> {
  const saved = await saveGuests(call, id, [...guests])
  if (saved.statusCode !== 200) throw new Error(saved.body)
}

export async function send ({ call }: TestApp, id: number): Promise<void> {
  const sent = await call('POST', `${BOOKINGS}/${id}/invio`, {})
  if (sent.statusCode !== 200) throw new Error(sent.body)
}

/** Fetches the receipt of the arrival day. Submissions sent around midnight also need the receipt of the next day. */
export async function fetchReceipt ({ app, call }: TestApp): Promise<void> {
  const fetched = await call('GET', `/api/alloggiati/ricevute?data=${today}`)
  if (fetched.statusCode !== 200) throw new Error(fetched.body)
  await app.sql`
    insert into ricevute (utente, giorno, pdf, sha256, scaricata_il)
    select utente, giorno + 1, pdf, sha256, scaricata_il from ricevute where giorno = ${today}
    on conflict do nothing`
}

/** Deletes the receipts, so that a day's receipt is fetched again and includes all submissions until then. */
export async function forgetReceipts ({ app }: TestApp): Promise<void> {
  await app.sql.begin(async (sql) => {
    await sql`alter table ricevute disable trigger user`
    await sql`delete from ricevute`
    await sql`alter table ricevute enable trigger user`
  })
}

/** Runs the job that deletes expired images, and returns its outcome. */
export async function purge (server: TestApp): Promise<string | null> {
  return (await runJob(server, 'image-retention')).esito
}

export async function held ({ call }: TestApp, id: number): Promise<HeldData[]> {
  const response = await call('GET', `${BOOKINGS}/${id}/privacy`)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json<{ data: { conservati: HeldData[] } }>().data.conservati
}

/** The state of a booking's images, by guest and side. */
export async function imagesOf (server: TestApp, id: number): Promise<Record<string, string>> {
  const images = (await held(server, id)).filter(({ cosa }) => cosa === 'immagine_documento')
  return Object.fromEntries(images.map(({ ospite, lato, stato, fino_a }) =>
    [`${ospite}/${lato}`, fino_a === null ? stato : `${stato} ${fino_a}`]))
}

let references = 0

/** Inserts an open submission of a booking, in any state, because the triggers are disabled. */
export async function openSubmission ({ app }: TestApp, prenotazione_id: number, stato: string): Promise<void> {
  const reference = `AW-20261120-${++references}`
  await app.sql.begin(async (sql) => {
    await sql`
      insert into invii (
        ricevuta, utente, operatore, metodo, prenotazione_id, data_arrivo, permanenza, scadenza, stato, lease_fino_al
      ) values (
        ${reference}, ${`sandbox:ALTRO${references}`}, 'prova', 'Send', ${prenotazione_id},
        ${today}, 2, now(), 'pronto', now() + interval '1 hour'
      )`
    await sql`
      insert into invii_schedine (invio_id, indice, capo, utente, prenotazione_id, permanenza, impronta_identita,
        impronta_persona, esito)
      select id, 0, 0, utente, prenotazione_id, 2, sha256(ricevuta::bytea), sha256(ricevuta::bytea), 'in_corso'
      from invii where ricevuta = ${reference}`
    await sql`alter table invii disable trigger user`
    await sql`update invii set stato = ${stato} where ricevuta = ${reference}`
    await sql`alter table invii enable trigger user`
  })
}

/** Cancels the submissions that `openSubmission` has inserted for a booking. */
export async function endSubmissions ({ app }: TestApp, prenotazione_id: number): Promise<void> {
  await app.sql.begin(async (sql) => {
    await sql`alter table invii disable trigger user`
    await sql`
      update invii set stato = 'annullato' where prenotazione_id = ${prenotazione_id} and utente like 'sandbox:ALTRO%'`
    await sql`alter table invii enable trigger user`
  })
}
