import type { Surroundings } from './client.ts'

/** So far ahead that no police deadline passes during the run. */
const ARRIVES_AFTER_DAYS = 30

export interface Stay { id: number }

/** Creates and deletes bookings of fictitious guests. */
export function stays ({ ask }: Pick<Surroundings, 'ask'>) {
  const arrival = new Date(Date.now() + ARRIVES_AFTER_DAYS * 86_400_000).toISOString().slice(0, 10)
  return {
    async create (): Promise<Stay | undefined> {
      const response = await ask('POST', '/api/v1/prenotazioni', {
        body: {
          nome_cognome: 'Ospite di Prova',
          lingua: 'IT',
          paese_id: 380,
          check_in: arrival,
          numero_notti: 3,
          numero_ospiti: 2
        },
        expected: [201]
      })
      return response?.json<{ data: Stay }>().data
    },
    remove: async ({ id }: Stay) => await ask('POST', '/api/v1/prenotazioni/delete-bulk', { body: { ids: [id] } })
  }
}
