import { saveAccountRow } from '#src/alloggiati/accounts/account-rows.ts'
import { unsealLine } from '#src/alloggiati/ledger/submission-rows.ts'
import type { Connection } from '#src/database/connect.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { CREDENTIALS, type Call } from '#test/alloggiati/stand-in.ts'

const SECOND = { utente: 'CO000002', password: 'parola-del-porto', wskey: 'chiave-del-porto' }

/** Adds establishment 2 with its own police account. The first one has the account of the environment. */
export async function addSecondHouse (db: Connection['db'], keys: Keys): Promise<void> {
  await db.execute('insert into struttura (id, nome) values (2, \'Casa del Porto\')')
  await db.transaction((tx) => saveAccountRow(tx, keys, { struttura_id: 2, modalita: 'production' }, SECOND))
}

/** Finds rows sent with a wrong user, who is not the user of the submission or of the booking's establishment. */
export async function findMisdirected (
  { sql }: Pick<Connection, 'sql'>, keys: Keys, calls: readonly Call[]
): Promise<string[]> {
  const rows = await sql<{ id: number, indice: number, riga: Buffer, utente: string, house: number | null }[]>`
    select i.id, s.indice, s.riga, i.utente, u.struttura_id as house
    from invii i join invii_schedine s on s.invio_id = i.id
    left join prenotazioni p on p.id = s.prenotazione_id left join unita u on u.id = p.unita_id`
  const sent = calls.flatMap(({ body, rows }) => {
    const user = /Utente[^>]*>([^<]*)</.exec(body)![1]!
    return rows.map((line) => ({ user, line }))
  })
  const known = new Set(rows.map(({ id, indice, riga, utente }) => `${utente} ${unsealLine(keys, id, indice, riga)}`))
  const users = [CREDENTIALS.ALLOGGIATI_UTENTE, SECOND.utente]
  return [
    ...sent.filter(({ user, line }) => !known.has(`${user} ${line}`)).map(({ user, line }) => `${user} sent ${line}`),
    ...rows.filter(({ utente, house }) => house !== null && utente !== users[house - 1])
      .map(({ id, utente, house }) => `submission ${id} of house ${house} has the account ${utente}`),
    ...users.filter((user) => !sent.some((each) => each.user === user)).map((user) => `${user} sent no guest`)
  ]
}
