import { listApartments } from '../service/apartment-calls.ts'
import { PoliceFault } from '../service/police-faults.ts'
import type { PoliceService } from '../service/police-service.ts'

/** Maximum number of apartments that a text lists. */
const LISTED_MAX = 20

/** Apartments that the service does not list, and the advice to choose one that it lists. */
interface UnknownApartments { ids: number[], advice: string }

/** Undefined if the service lists all of these apartments, or if its list is empty or unavailable. */
export async function unknownApartments (
  service: PoliceService, apartments: readonly number[]
): Promise<UnknownApartments | undefined> {
  if (apartments.length === 0) return undefined
  const known = await listApartments(service).catch((err: unknown) => {
    if (err instanceof PoliceFault) return []
    throw err
  })
  const ids = [...new Set(apartments)].filter((id) => !known.some((each) => each.id === id))
  if (known.length === 0 || ids.length === 0) return undefined
  const listed = known.slice(0, LISTED_MAX).map(({ id, descrizione }) => `${id} ${descrizione}`).join(', ')
  return { ids, advice: `Indicare uno fra ${listed}` }
}
