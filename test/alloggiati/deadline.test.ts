import t from 'tap'
import { build } from '#test/helper.ts'
import { single, today } from './rules/samples.ts'

t.test(
  "a booking to verify tells until when the law wants it: 24 hours, 6 for one night, by Rome's clock",
  async (t) => {
    const { call } = await build(t, { TODAY: today })
    const book = async (nome_cognome: string, check_in: string, numero_notti: number): Promise<number> =>
      (
        await call('POST', '/api/v1/prenotazioni', {
          nome_cognome,
          lingua: 'IT',
          paese_id: 380,
          check_in,
          numero_notti,
          numero_ospiti: 1
        })
      ).json().data.id
    await book('A Estate', '2026-07-01', 5)
    await book('B Cambio', '2026-10-24', 2)
    await book('C Una', today, 1)
    const id = await book('D Due', today, 2)
    await call('POST', '/api/alloggiati/invio', {
      ospiti: [single()],
      prenotazione: { id, check_in: today, numero_notti: 2 }
    })
    const { mancanti, in_attesa } = (await call('GET', '/api/alloggiati/verifica-ricevute')).json()
    t.same(
      mancanti.map(({ nome_cognome, scadenza }: Record<string, string>) => [nome_cognome, scadenza]),
      [
        ['A Estate', '2026-07-02T12:00:00.000Z'],
        ['B Cambio', '2026-10-25T12:00:00.000Z'],
        ['C Una', '2026-11-21T19:00:00.000Z'],
        ['D Due', '2026-11-22T13:00:00.000Z']
      ]
    )
    t.strictSame(in_attesa, [
      {
        prenotazione_id: id,
        nome_cognome: 'D Due',
        check_in: today,
        scadenza: '2026-11-22T13:00:00.000Z',
        ospiti_mancanti: 1
      }
    ])
  }
)
