import type postgres from 'postgres'
import type { Day } from '#src/lib/time.ts'

/** The police account of the generated history. */
export const ACCOUNT = 'RM000001'

interface History {
  submissions: number
  /** The last day of the history, which has no receipt yet. */
  today: Day
  days?: number
}

/** Every n-th submission was acquired only in part, so that one guest must be sent again. */
const PARTLY = 500
/** Tables whose triggers are disabled during the fill. */
const FILLED = ['prenotazioni', 'invii', 'invii_schedine', 'invii_tentativi', 'invii_esiti', 'invii_transizioni']

/**
 * Fills a migrated, empty database with a busy account's history: bookings, submissions, attempts, observations,
 * transitions and receipts. Each booking has one submission, and three submissions have ten rows. All days except today
 * have receipts. Triggers are disabled, so hashes are fake and counts are inserted directly.
 */
export async function fillLedger (sql: postgres.Sql, { submissions, today, days = 1095 }: History): Promise<void> {
  await sql.begin(async (tx) => {
    for (const step of steps(submissions, today, days)) await tx.unsafe(step)
  })
  await sql.unsafe('vacuum analyze')
}

function steps (submissions: number, today: Day, days: number): string[] {
  const perDay = Math.ceil(submissions / days)
  // Two, three or five guests, for one to seven nights.
  const guests = '(array[2, 3, 5])[1 + i % 3]'
  const nights = '(1 + i % 7)'
  const day = `(date '${today}' - ${days - 1} + (i - 1) / ${perDay})`
  const seconds = `(i - 1) % ${perDay} * 60 % 28800`
  const sentAt = `(${day} + time '15:00' + make_interval(secs => ${seconds})) at time zone 'Europe/Rome'`
  const state = `case when ${day} = date '${today}' then 'acquisito'
    when i % ${PARTLY} = 0 then 'parziale' else 'ricevuto' end`
  const acquired = `(${guests} - case when i % ${PARTLY} = 0 then 1 else 0 end)`
  return [
    'set local synchronous_commit = off',
    ...FILLED.map((table) => `alter table ${table} disable trigger user`),
    `insert into prenotazioni (id, nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti,
        created_at, updated_at, schedine_cambiate_il)
      overriding system value
      select i, 'Ospite di Prova ' || i, 'IT', 380, ${day}, ${day} + ${nights}, ${guests},
        ${sentAt} - interval '1 day', ${sentAt} - interval '1 hour', ${sentAt} - interval '1 hour'
      from generate_series(1, ${submissions}) i`,
    `insert into prenotazioni_per_paese (paese_id, totale) values (380, ${submissions})
      on conflict (paese_id) do update set totale = excluded.totale`,
    `insert into invii (id, ricevuta, utente, operatore, metodo, prenotazione_id, data_arrivo, permanenza, scadenza,
        stato, versione, tentativo, lease_fino_al, nota, creato_il, aggiornato_il)
      overriding system value
      select i, 'AW-' || to_char(${day}, 'YYYYMMDD') || '-' || (1 + (i - 1) % ${perDay}), '${ACCOUNT}', 'server',
        'Send', i, ${day}, ${nights}, ${sentAt} + interval '1 day', ${state}, 4, 1, ${sentAt}, 'risposta del servizio',
        ${sentAt}, ${sentAt}
      from generate_series(1, ${submissions}) i`,
    `insert into invii_schedine (invio_id, indice, capo, utente, prenotazione_id, riga, permanenza,
        impronta_identita, impronta_persona, impronta_documento, esito)
      select i, g, 0, '${ACCOUNT}', i,
        case when ${day} > date '${today}' - 31 then decode(repeat(md5(i || '/' || g), 13), 'hex') end,
        ${nights},
        sha256(convert_to('i' || i || '/' || g, 'UTF8')), sha256(convert_to('p' || i || '/' || g, 'UTF8')),
        case when g = 0 then sha256(convert_to('d' || i, 'UTF8')) end,
        case when g < ${acquired} then 'acquisita' else 'rifiutata' end
      from generate_series(1, ${submissions}) i, lateral generate_series(0, ${guests} - 1) g`,
    `insert into invii_tentativi (invio_id, numero, base, inviato_il, consegna_entro, giorno_da, giorno_a, schedine,
        notti, impronta_richiesta)
      select i, 1, 'primo', ${sentAt}, ${sentAt} + interval '10 minutes', ${day}, ${day}, ${guests},
        ${guests} * ${nights}, sha256(convert_to('r' || i, 'UTF8'))
      from generate_series(1, ${submissions}) i`,
    `insert into invii_esiti (invio_id, numero, esito, fonte, schedine, notti, http_status, registrato_il)
      select i, 1, 'K', 'risposta', ${acquired}, ${acquired} * ${nights}, 200, ${sentAt} + interval '2 seconds'
      from generate_series(1, ${submissions}) i`,
    `insert into invii_transizioni (id, invio_id, da, a, chi, perche, quando, hash)
      select (i - 1) * 5 + n, i, step.da, step.a, 'bench', 'bench', ${sentAt}, sha256(convert_to(i || '/' || n, 'UTF8'))
      from generate_series(1, ${submissions}) i cross join (values
        (1, null, 'pronto'), (2, 'pronto', 'preso'), (3, 'preso', 'in_invio'), (4, 'in_invio', 'acquisito'),
        (5, 'acquisito', 'ricevuto')) step (n, da, a)
      where n < 5 or ${state} = 'ricevuto'`,
    `insert into ricevute (utente, giorno, pdf, sha256, schedine, notti, scaricata_il)
      select '${ACCOUNT}', t.giorno_da, decode(repeat('25504446', 512), 'hex'),
        encode(sha256(convert_to(t.giorno_da::text, 'UTF8')), 'hex'), sum(e.schedine), sum(e.notti),
        (t.giorno_da + 1 + time '06:30') at time zone 'Europe/Rome'
      from invii_tentativi t join invii_esiti e using (invio_id, numero)
      where t.giorno_da < date '${today}' group by t.giorno_da`,
    `insert into ricevute_letture (utente, giorno, letta_il, sha256, schedine, notti)
      select utente, giorno, scaricata_il, sha256, schedine, notti from ricevute order by giorno`,
    `insert into invii_numerazione (giorno, ultimo)
      select data_arrivo, count(*) from invii group by data_arrivo`,
    `insert into invii_conteggi (utente, stato, quanti)
      select utente, stato, count(*) from invii group by utente, stato`,
    ...FILLED.map((table) => `alter table ${table} enable trigger user`),
    "select setval(pg_get_serial_sequence('invii', 'id'), max(id)) from invii",
    "select setval(pg_get_serial_sequence('prenotazioni', 'id'), max(id)) from prenotazioni"
  ]
}
