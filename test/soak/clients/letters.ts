import type { Client, Surroundings } from './client.ts'
import { stays } from './stays.ts'

/** Creates, downloads and deletes a welcome letter. */
export function letters (surroundings: Surroundings): Client {
  const { ask, random, surprise } = surroundings
  const { create, remove } = stays(surroundings)

  async function act (): Promise<void> {
    const stay = await create()
    if (!stay) return
    const path = `/api/lettere-benvenuto/${stay.id}`
    const made = await ask('POST', '/api/lettere-benvenuto/genera', {
      body: { prenotazione_id: stay.id, nome_ospite: 'Anna Prova', lingua: random.pick(['IT', 'EN', 'DE', 'FR']) },
      expected: [201]
    })
    const pdf = made && await ask('GET', `${path}/pdf`)
    if (pdf && pdf.bytes.toString('latin1', 0, 5) !== '%PDF-') surprise('a letter is no PDF')
    if (pdf) await ask('DELETE', path)
    await remove(stay)
  }
  return { name: 'letters', restMs: 5000, act }
}
