import t from 'tap'
import type { Today, TodayBooking } from '#schemas/today.ts'
import type { Unit } from '#schemas/unit.ts'
import { staysOfDay } from '#src/bookings/index.ts'
import { addDays } from '#src/lib/time.ts'
import { member, single } from '#test/alloggiati/rules/samples.ts'
import { BOOKINGS, create, fieldsAtFault, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { build } from '#test/helper.ts'
import { countStatements } from '#test/sql/statements.ts'

const TODAY = '/api/v1/oggi'
const today = testClock().today()
const yesterday = addDays(today, -1)
const { app, call } = await build(t)

async function read (query = ''): Promise<Today> {
  const response = await call('GET', TODAY + query)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json<{ data: Today }>().data
}

let guests = 0
/** A complete guest with a new name. */
function guest () {
  const n = guests++
  const letters = String.fromCharCode(65 + Math.floor(n / 26), 65 + n % 26)
  return single({ cognome: `OGGI ${letters}`, numero_documento: `CA0${n + 1000}AA` })
}

async function book (changes: object, saved: object[]): Promise<number> {
  const { id } = await create(call, { check_in: today, numero_ospiti: 1, ...changes })
  if (saved.length > 0) await saveGuests(call, id, saved)
  return id
}

async function send (id: number): Promise<void> {
  const sent = await call('POST', `${BOOKINGS}/${id}/invio`)
  if (sent.statusCode !== 200) throw new Error(sent.body)
}

const ids = (bookings: readonly TodayBooking[]) => bookings.map(({ id }) => id)
const find = (day: Today, id: number) =>
  [...day.arrivi, ...day.partenze, ...day.in_casa, ...day.annullate].find((each) => each.id === id)!

t.test('an empty day has no bookings, and today is the default', async (t) => {
  const day = await read()
  t.same(day, {
    giorno: today,
    contatori: {
      arrivi: { restano: 0, totale: 0 },
      partenze: 0,
      in_casa: 0,
      ospiti_da_comunicare: { restano: 0, totale: 0 }
    },
    arrivi: [],
    partenze: [],
    in_casa: [],
    non_arrivati: [],
    annullate: []
  })
  t.same(fieldsAtFault(await call('GET', `${TODAY}?giorno=2026-02-30`)), ['giorno'])
  t.equal((await call('GET', TODAY, undefined, { 'x-api-key': '' })).statusCode, 401)
})

t.test('each group has its bookings, with guests, registration and what is missing', async (t) => {
  const room = (await call('POST', '/api/v1/unita', { nome: 'Glicine', tipo: 'camera', ospiti_massimi: 2 }))
    .json<{ data: Unit }>().data
  const ready = await book({ unita_id: room.id }, [guest()])
  const parents = { ...guest(), tipo_alloggiato: '17' }
  const child = member('19', 'FIGLIO', { cognome: parents.cognome, sesso: '', provincia_nascita: 'MI' })
  const incomplete = await book({ numero_ospiti: 3 }, [parents, child])
  const sent = await book({}, [guest()])
  const leaving = await book({ check_in: yesterday, numero_notti: 1 }, [guest()])
  const staying = await book({ check_in: addDays(today, -3), numero_notti: 9 }, [guest()])
  const cancelled = await book({ stato: 'annullata' }, [])
  await book({ check_in: addDays(today, 1) }, [guest()])
  await book({ check_in: addDays(today, -3), numero_notti: 1 }, [guest()])
  await send(sent)
  await send(leaving)
  const letter = { prenotazione_id: ready, nome_ospite: 'Anna', lingua: 'IT' }
  t.equal((await call('POST', '/api/lettere-benvenuto/genera', letter)).statusCode, 201)

  const day = await read()
  t.same(day.contatori, {
    arrivi: { restano: 2, totale: 3 },
    partenze: 1,
    in_casa: 2,
    ospiti_da_comunicare: { restano: 4, totale: 5 }
  })
  t.same(ids(day.arrivi), [ready, incomplete, sent])
  t.same(ids(day.partenze), [leaving])
  t.same(ids(day.in_casa), [staying, sent])
  t.same(ids(day.non_arrivati), [ready, incomplete])
  t.same(ids(day.annullate), [cancelled])
  t.same(find(day, ready), {
    id: ready,
    nome_cognome: 'Anna Bianchi',
    check_in: today,
    check_out: addDays(today, 3),
    numero_notti: 3,
    unita: { id: room.id, nome: 'Glicine' },
    stato: 'confermata',
    ospiti_completi: 1,
    numero_ospiti: 1,
    registrazione: 'pronta',
    mancano: [],
    lettera: true
  })
  t.match(find(day, incomplete), {
    registrazione: 'incompleta',
    ospiti_completi: 1,
    unita: null,
    lettera: false,
    mancano: [
      { ospite: 1, campo: 'sesso', messaggio: 'Il sesso è obbligatorio' },
      { ospite: 1, campo: 'provincia_nascita' },
      { ospite: 2, campo: 'ospiti', messaggio: '2 ospiti salvati su 3' }
    ]
  })
  t.match(find(day, sent), { registrazione: 'gia_inviata', ospiti_completi: 1, mancano: [] })
  t.match(find(day, leaving), { registrazione: 'gia_inviata', mancano: [] })
  t.match(find(day, staying), { registrazione: 'incompleta', ospiti_completi: 1, mancano: [{ campo: 'check_in' }] })
  t.match(find(day, cancelled), { registrazione: null, stato: 'annullata', mancano: [] })

  const tomorrow = await read(`?giorno=${addDays(today, 1)}`)
  t.match(tomorrow.contatori, { arrivi: { restano: 1, totale: 1 }, in_casa: 4 })
})

t.test('the states equal those in the dry run of the day', async (t) => {
  const { arrivi } = await read()
  const preview = await call('POST', '/api/v1/invii/giornata', { prova: true })
  const { prenotazioni } = preview.json<{ prenotazioni: { prenotazione_id: number, stato: string }[] }>()
  const arriving = prenotazioni.filter(({ prenotazione_id: id }) => ids(arrivi).includes(id))
  t.same(arrivi.map(({ id, registrazione }) => [id, registrazione]),
    arriving.map(({ prenotazione_id: id, stato }) => [id, stato]))
})

t.test('a guest saved after the stays were read does not change how many are complete', async (t) => {
  const id = await book({ numero_ospiti: 2 }, [])
  const stays = await staysOfDay(app.db, today)
  await saveGuests(call, id, [{ ...guest(), cittadinanza: '' }])
  t.equal((await app.registrations(today, stays)).get(id)?.complete, 0)
})

t.test('a hundred bookings need as many statements as one, and an unchanged day needs one', async (t) => {
  const count = countStatements(app)
  await book({}, [guest()])
  const few = await count(read)
  for (let n = 0; n < 100; n++) await book({}, [guest()])
  t.equal(await count(read), few)
  t.equal((await read()).contatori.arrivi.totale, 105)
  // Writes to other databases of the server also change the snapshot.
  while (await count(read) > 1) { /* until two consecutive requests have the same snapshot */ }
  const [first] = (await read()).arrivi
  await call('PUT', `${BOOKINGS}/${first!.id}`, { nome_cognome: 'Bruna Verdi' })
  t.equal(find(await read(), first!.id).nome_cognome, 'Bruna Verdi')
})
