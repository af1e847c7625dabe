import t from 'tap'
import { findOrCreateAccount } from '#src/identity/oauth/accounts.ts'
import { createUser } from '#src/identity/people/users.ts'
import { testDatabase } from '#test/database.ts'

t.test(
  'a profile that makes the metadata too long is left out, and a shorter one is kept',
  async (t) => {
    const { db } = await testDatabase(t)
    const metadata = { full_name: 'Anna Prova', picture: `https://immagini.example/${'a'.repeat(900)}` }
    for (const [email, own, expected] of [
      ['piena@example.org', { note: 'x'.repeat(8000) }, { note: 'x'.repeat(8000) }],
      ['vuota@example.org', { note: 'x' }, { note: 'x', ...metadata }]
    ] as const) {
      const { user } = await db.transaction(async (tx) => {
        await createUser(tx, { email, confirmed: true, user_metadata: own })
        return await findOrCreateAccount(
          tx,
          { provider: 'google', profile: { subject: email, email, emailVerified: true, metadata } },
          false
        )
      })
      t.same(user.user_metadata, expected, email)
    }
  }
)
