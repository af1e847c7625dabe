import Fastify from 'fastify'
import postgres from 'postgres'

/*
 * The minimal equivalent of calendar and desk, in a separate process that prints its URL: a bare Fastify route, and one
 * prepared query that writes the JSON. The desk's rules are constants here, because a query has no rules.
 */
const sql = postgres(process.env.DATABASE_URL ?? '', { max: 8, onnotice: () => {} })
const app = Fastify()

interface Row { json: string }

app.get<{ Querystring: { da: string, a: string } }>('/api/v1/calendario', async ({ query: { da, a } }, reply) => {
  const [row] = await sql<Row[]>`
    select json_build_object('data', (
      select json_agg(json_build_object(
        'unita', json_build_object('id', u.id, 'nome', u.nome, 'tipo', u.tipo, 'camere', u.camere,
          'posti_letto', u.posti_letto, 'ospiti_massimi', u.ospiti_massimi, 'id_appartamento', u.id_appartamento,
          'cin', u.cin, 'attiva_da', u.attiva_da, 'attiva_a', u.attiva_a, 'gruppo', u.gruppo, 'ordine', u.ordine),
        'prenotazioni', (select coalesce(json_agg(json_build_object('id', p.id, 'titolo', p.nome_cognome,
          'dal', p.check_in, 'al', p.check_out, 'ospiti', p.numero_ospiti, 'gruppo', p.gruppo,
          'url', '/prenotazioni/' || p.id) order by o.dal), '[]')
          from occupazione o join prenotazioni p on p.id = o.prenotazione_id
          where o.unita_id = u.id and o.al > ${da}::date and o.dal < ${a}::date),
        'blocchi', (select coalesce(json_agg(json_build_object('id', b.id, 'dal', b.dal, 'al', b.al)), '[]')
          from occupazione o join blocchi b on b.id = o.blocco_id
          where o.unita_id = u.id and o.al > ${da}::date and o.dal < ${a}::date),
        'liberi', (select coalesce(json_agg(json_build_object('dal', lower(gap), 'al', upper(gap))), '[]')
          from unnest(datemultirange(daterange(${da}::date, ${a}::date)) - coalesce((
            select range_agg(daterange(o.dal, o.al)) from occupazione o
            where o.unita_id = u.id and o.al > ${da}::date and o.dal < ${a}::date), '{}')) gap)
      ) order by u.ordine, u.nome) from unita u
    ), 'da_assegnare', (
      select coalesce(json_agg(json_build_object('id', p.id, 'titolo', p.nome_cognome, 'dal', p.check_in,
        'al', p.check_out, 'ospiti', p.numero_ospiti, 'gruppo', p.gruppo, 'url', '/prenotazioni/' || p.id)
        order by p.check_in, p.id), '[]')
      from prenotazioni p where p.unita_id is null and p.stato = 'confermata'
        and daterange(p.check_in, p.check_out, '[)') && daterange(${da}::date, ${a}::date, '[)')
    ))::text as json`
  return reply.type('application/json; charset=utf-8').send(row!.json)
})

app.get<{ Querystring: { giorno: string } }>('/api/v1/oggi', async ({ query: { giorno } }, reply) => {
  const [row] = await sql<Row[]>`
    with stays as materialized (
      select p.check_in, p.check_out, json_build_object('id', p.id, 'nome_cognome', p.nome_cognome,
        'check_in', p.check_in, 'check_out', p.check_out, 'numero_notti', p.numero_notti,
        'unita', case when u.id is not null then json_build_object('id', u.id, 'nome', u.nome) end, 'stato', p.stato,
        'ospiti_completi', (select count(*) from ospiti o where o.prenotazione_id = p.id and o.cittadinanza > ''),
        'numero_ospiti', p.numero_ospiti, 'registrazione', 'incompleta', 'mancano', ${MISSING}::json,
        'lettera', exists (select from lettere_benvenuto l where l.prenotazione_id = p.id)) as stay
      from prenotazioni p left join unita u on u.id = p.unita_id
      where daterange(p.check_in, p.check_out, '[)') @> ${giorno}::date or p.check_out = ${giorno}::date
    )
    select json_build_object('data', json_build_object('giorno', ${giorno}::text,
      'arrivi', (select json_agg(stay) from stays where check_in = ${giorno}::date),
      'partenze', (select json_agg(stay) from stays where check_out = ${giorno}::date),
      'in_casa', (select json_agg(stay) from stays where check_in < ${giorno}::date and check_out > ${giorno}::date),
      'non_arrivati', (select json_agg(stay) from stays where check_in = ${giorno}::date)))::text as json`
  return reply.type('application/json; charset=utf-8').send(row!.json)
})

/** Remarks of the usual length. */
const MISSING = JSON.stringify(Array.from({ length: 5 }, () => ({
  ospite: 0, campo: 'stato_nascita', messaggio: 'Lo stato di nascita è obbligatorio (per l’Italia 100000100)'
})))

process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
