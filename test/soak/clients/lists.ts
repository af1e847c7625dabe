import type { Client, Surroundings } from './client.ts'

const PATHS = [
  '/api/v1/prenotazioni?limit=50', '/api/v1/prenotazioni', '/api/v1/prenotazioni?q=Prova&limit=20', '/api/prenotazioni',
  '/api/widget/data', '/api/map/top-countries', '/api/v1/paesi', '/api/alloggiati/codici?q=firenze&limit=20',
  '/api/v1/invii?limit=50', '/api/v1/eventi?limit=50', '/api/lettere-benvenuto?limit=50', '/api/history?limit=50',
  '/api/settings/features', '/health/ready', '/metrics'
]

/** Reads lists, the calendar and the dashboard. */
export function lists ({ ask, random }: Surroundings): Client {
  return { name: 'lists', restMs: 150, act: async () => { await ask('GET', random.pick(PATHS)) } }
}
