import { create } from '#test/bookings/samples.ts'
import type { TestApp } from '#test/helper.ts'
import type { Letter } from '#schemas/letter.ts'

export const LETTERS = '/api/lettere-benvenuto'

/** What the tests do with welcome letters. */
export function lettering ({ app, call }: Pick<TestApp, 'app' | 'call'>) {
  const generate = (prenotazione_id: number, changes: object = {}, headers?: Record<string, string>) =>
    call('POST', `${LETTERS}/genera`, { prenotazione_id, nome_ospite: 'Anna Bianchi', lingua: 'IT', ...changes }, headers)
  return {
    newBooking: async (changes: Record<string, unknown> = {}) => (await create(call, changes)).id,
    generate,
    remove: (id: number) => call('DELETE', `${LETTERS}/${id}`),
    find: async (id: number) => (await call('GET', `${LETTERS}/${id}`)).json<{ exists: boolean, data: Letter | null }>(),
    download: (id: number, headers?: Record<string, string>) =>
      call('GET', `${LETTERS}/${id}/pdf`, undefined, headers),
    /** The names of the stored letters of a booking. */
    stored: async (id: number) =>
      (await app.storage.findByPrefix(app.db, 'letters', `${id}/`)).map(({ name }) => name)
  }
}
