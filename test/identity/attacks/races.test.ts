import t from 'tap'
import { as, bearer, isLetIn } from '#test/identity/twins.ts'
import { held, PASSWORD } from './held.ts'

t.test('no session begins for who is banned, unconfirmed, deleted or has another password by then', async (t) => {
  const { person, signIn, sql, meanwhile } = await held(t)
  const cases: [name: string, code: string, change: (id: string) => ReturnType<typeof sql>][] = [
    ['banned', 'user_banned', (id) => sql`update users set banned_until = now() + interval '1 hour' where id = ${id}`],
    ['unconfirmed', 'email_not_confirmed', (id) => sql`update users set email_confirmed_at = null where id = ${id}`],
    ['deleted', 'invalid_credentials', (id) => sql`delete from users where id = ${id}`],
    ['softly deleted', 'invalid_credentials', (id) => sql`update users set deleted_at = now(), password_hash = null where id = ${id}`],
    ['another password', 'invalid_credentials', (id) => sql`update users set password_hash = 'x' where id = ${id}`]
  ]
  for (const [n, [name, code, change]] of cases.entries()) {
    const email = `persona${n}@example.org`
    const id = await person(email)
    const statement = change(id)
    void statement
    const answer = await meanwhile((tx) => tx.unsafe(({
      banned: `update users set banned_until = now() + interval '1 hour' where id = '${id}'`,
      unconfirmed: `update users set email_confirmed_at = null where id = '${id}'`,
      deleted: `delete from users where id = '${id}'`,
      'softly deleted': `update users set deleted_at = now(), password_hash = null where id = '${id}'`,
      'another password': `update users set password_hash = 'x' where id = '${id}'`
    } as Record<string, string>)[name]!), () => signIn(email))
    t.match([answer.statusCode, answer.json()], [400, { error_code: code }], name)
    const [{ n: sessions }] = await sql<[{ n: number }]>`select count(*)::int as n from sessions where user_id = ${id}`
    t.equal(sessions, 0, name)
  }
})
