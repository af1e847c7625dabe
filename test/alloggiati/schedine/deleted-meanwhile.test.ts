import t from 'tap'
import { today } from '#test/alloggiati/rules/samples.ts'
import { BOOKINGS, create, saveGuests } from '#test/bookings/samples.ts'
import { guest } from '#test/documents/retaining.ts'
import { build } from '#test/helper.ts'

t.test('an acquired Send is answered as such, also when its booking is deleted before the answer', async (t) => {
  const { app, call } = await build(t, { TODAY: today })
  const { id } = await create(call, { check_in: today, numero_notti: 2, numero_ospiti: 2 })
  const saved = await saveGuests(call, id, [guest('UNO')])
  t.equal(saved.statusCode, 200, saved.body)
  // In the instant in which the outcome is written down: a deletion is refused until then.
  await app.sql.unsafe(`
    create function delete_booking () returns trigger language plpgsql as $$
      begin
        delete from prenotazioni where id = new.prenotazione_id;
        return null;
      end
    $$;
    create trigger delete_booking after update on invii for each row when (new.stato = 'acquisito')
      execute function delete_booking()`)
  const answer = await call('POST', `${BOOKINGS}/${id}/invio`, {})
  t.equal(answer.statusCode, 200, answer.body)
  t.match(answer.json(), { success: true, ricevuta: /^AW-/, dettagli: { schedine_inviate: 1, prenotazione_id: id } })
  t.equal((await call('GET', `${BOOKINGS}/${id}`)).statusCode, 404, 'it was deleted')
  t.match([...await app.sql`select stato, prenotazione_id from invii`], [{ stato: 'acquisito', prenotazione_id: id }])
})
