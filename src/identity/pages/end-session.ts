import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { PersonPrincipal } from '../directory.ts'
import { endSessions } from '../sign-in/sessions.ts'
import { isUuid } from '../uuid.ts'

/** Ends one session of a person, and says so in the audit log. That of another person, or none, is passed over. */
export async function endOwnSession (
  { db, audit, identity: { waitForListeners } }: FastifyInstance,
  { ip }: FastifyRequest,
  { id: actor, userId }: PersonPrincipal,
  sessionId: string
): Promise<void> {
  if (!isUuid(sessionId)) return
  await db.transaction(async (tx) => {
    if (await endSessions(tx, userId, 'local', sessionId) === 0) return
    const details = { scope: 'session' }
    await audit.append(tx, { actor, ip, action: 'uscita', object: `session:${sessionId}`, details })
  })
  await waitForListeners()
}
