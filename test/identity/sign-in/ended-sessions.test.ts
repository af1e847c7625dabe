import t from 'tap'
import { deleteEndedSessions } from '#src/identity/sign-in/sessions.ts'
import { build, signIn } from '#test/helper.ts'

t.test(
  'sessions that ended a month ago are deleted, and live or recently ended ones are kept',
  async (t) => {
    const { app } = await build(t)
    const names = ['viva', 'appena finita', 'finita da un mese', 'inattiva da un mese e mezzo'].map((name) =>
      name.replaceAll(' ', '-')
    )
    const ids = new Map<string, string>()
    for (const name of names) ids.set(name, (await signIn(app, name, 'operator')).user.id)
    const age = async (name: string, not_after: string, days: number) => {
      await app.sql`
        update sessions set
          not_after = now() + ${not_after}::interval,
          created_at = now() - make_interval(days => ${days}),
          updated_at = now() - make_interval(days => ${days}),
          refreshed_at = null
        where user_id = ${ids.get(name)!}`
    }
    await age('appena-finita', '-1 minute', 1)
    await age('finita-da-un-mese', '-30 days', 31)
    await age('inattiva-da-un-mese-e-mezzo', '10 days', 45)
    await deleteEndedSessions(app.db)
    const left = await app.sql<{ user_id: string }[]>`select user_id from sessions`
    t.same(left.map(({ user_id }) => names.find((name) => ids.get(name) === user_id)).sort(), ['appena-finita', 'viva'])
  }
)
