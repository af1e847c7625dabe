import type { Client, Surroundings } from './client.ts'

/** Sends mails, and records the Message-ID of each accepted one. */
export function mails ({ ask, admin }: Surroundings): Client & { promised: string[] } {
  const promised: string[] = []

  async function act (): Promise<void> {
    const body = { recipients: ['ospite@example.org', 'altra@example.org'], subject: 'Prova', body: '<p>Prova</p>' }
    const response = await ask('POST', '/api/send-email', { body, headers: admin })
    const { recipients = [] } = response?.json<{ recipients?: { messageId: string }[] }>() ?? {}
    promised.push(...recipients.map(({ messageId }) => messageId))
  }
  return { name: 'mails', restMs: 4000, act, promised }
}
