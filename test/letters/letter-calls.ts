import { create } from '#test/bookings/samples.ts'
import type { TestApp } from '#test/helper.ts'
import type { Letter } from '#schemas/letter.ts'

export const LETTERS = '/api/lettere-benvenuto'

/** Helpers for welcome letters. */
export function letterCalls ({ app, call }: Pick<TestApp, 'app' | 'call'>) {
  const generate = (prenotazione_id: number, changes: object = {}, headers?: Record<string, string>) =>
    call('POST', `${LETTERS}/genera`, {
      prenotazione_id, nome_ospite: 'Anna Bianchi', lingua: 'IT', ...changes
    }, headers)
  return {
    newBooking: async (changes: Record<string, unknown> = {}) => (await create(call, changes)).id,
    generate,
    remove: (id: number) => call('DELETE', `${LETTERS}/${id}`),
    find: async (id: number) =>
      (await call('GET', `${LETTERS}/${id}`)).json<{ exists: boolean, data: Letter | null }>(),
    download: (id: number, headers?: Record<string, string>) =>
      call('GET', `${LETTERS}/${id}/pdf`, undefined, headers),
    /** The names of the stored letters of a booking. */
    stored: async (id: number) =>
      (await app.files.findByPrefix(app.db, 'letters', `${id}/`)).map(({ name }) => name)
  }
}

/** An invented establishment. */
export const HOUSE = {
  nome: 'Locanda del Lago',
  motto: 'Camere con vista dal 1987',
  indirizzo: 'Via dei Prati 8, 22100 Como',
  luogo: 'Como',
  telefono: '+39 031 555 0100',
  email: 'ciao@locanda.example',
  cin: 'IT013075A1B2C3D4E5',
  firma: 'Ada e Bruno',
  colore: '#1f4e46',
  wifi_rete: 'Locanda',
  wifi_password: 'lago;sereno-2026',
  ora_check_in: '15:00',
  ora_check_out: '10:30',
  colazione: '7:30 – 10:00, nella veranda',
  regole: 'Silenzio dalle 22:30. Si fuma solo in giardino.'
}
