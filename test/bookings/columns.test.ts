import { eq } from 'drizzle-orm'
import t from 'tap'
import { prenotazioni } from '#drizzle/tables/bookings.ts'
import { Booking, BookingDetail } from '#schemas/booking.ts'
import { fieldNames } from '#schemas/common.ts'
import { Guest } from '#schemas/guest.ts'
import { bookingColumns, detailColumns } from '#src/bookings/columns.ts'
import { asJson } from '#src/plugins/database/columns.ts'
import { build } from '#test/helper.ts'
import { create, guests, list, read, saveGuests } from './samples.ts'

/* What PostgreSQL writes for an answer: the schema, not the table, must say which columns a client sees. */

const { app, call } = await build(t)
const { id } = await create(call)
await saveGuests(call, id, guests(2))

t.test('the text that PostgreSQL writes of a booking has the fields of its schema and no others', async (t) => {
  const [row] = await app.db.select({ json: asJson(bookingColumns) }).from(prenotazioni).where(eq(prenotazioni.id, id))
  t.same(Object.keys(JSON.parse(row!.json)), fieldNames(Booking))
})

t.test('the text that PostgreSQL writes of a guest has the fields of its schema and no others', async (t) => {
  const [row] = await app.db.select({ ospiti: detailColumns.ospiti }).from(prenotazioni).where(eq(prenotazioni.id, id))
  t.equal(row!.ospiti.length, 2)
  for (const guest of row!.ospiti) t.same(Object.keys(guest), fieldNames(Guest))
})

t.test('the list shows the fields of the schema and no others, whole, in pages and in every order', async (t) => {
  for (const query of ['', '?limit=1', '?sort=-check_in', '?sort=updated_at&limit=1000']) {
    const shown = await list(call, query)
    t.ok(shown.length > 0)
    for (const booking of shown) t.same(Object.keys(booking), fieldNames(Booking), query)
  }
})

t.test('the detail shows the fields of the schema and no others', async (t) => {
  t.same(Object.keys(await read(call, id)), fieldNames(BookingDetail))
})
