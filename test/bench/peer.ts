import { availableParallelism } from 'node:os'
import Fastify from 'fastify'
import postgres from 'postgres'
import { Type } from '@sinclair/typebox'
import { Booking, BookingResponse, BookingDetailResponse } from '#schemas/booking.ts'
import { BARE } from './harness.ts'

/*
 * The minimal service with which the benchmark compares Locanda: only Fastify and the driver, with prepared statements
 * on the same tables and with the same response schemas. It runs in a separate process, which prints its URL.
 */
const sql = postgres(process.env.DATABASE_URL ?? '', {
  max: Math.max(4, availableParallelism() * 2),
  onnotice: () => {},
  types: { date: asText(1082) }
})
const app = Fastify()

const columns = sql`
  id, nome_cognome, lingua, email, telefono, paese_id, check_in, check_out, numero_notti, numero_ospiti, idf_gen, stato,
  unita_id, canale, prezzo, valuta, note, gruppo`
const stamps = sql`
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
  to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as updated_at`

app.get<{ Params: { id: number } }>(
  '/api/v1/prenotazioni/:id',
  { schema: { response: { 200: BookingDetailResponse } } },
  async (request, reply) => {
    const [booking] = await sql`
    select ${columns}, (
      select coalesce(json_agg(json_build_object(
        'id', o.id, 'nome', o.nome, 'cognome', o.cognome, 'sesso', o.sesso, 'data_nascita', o.data_nascita,
        'tipo_documento', o.tipo_documento, 'numero_documento', o.numero_documento) order by o.indice), '[]')
      from ospiti o where o.prenotazione_id = prenotazioni.id
    ) as ospiti, ${stamps}, versione
    from prenotazioni where id = ${request.params.id}`
    if (!booking) return reply.callNotFound()
    return { data: booking }
  }
)

app.get(
  '/api/v1/prenotazioni',
  { schema: { response: { 200: Type.Object({ data: Type.Array(Booking) }) } } },
  async () => ({ data: await sql`select ${columns}, ${stamps} from prenotazioni order by id` })
)

// The same bytes as a page of the list and as a month of the calendar, each from one prepared statement.
app.get('/pagina', async (_request, reply) => {
  const [row] = await sql<{ json: string }[]>`
    select '{"data":[' || string_agg(row_to_json(r)::text, ',' order by id) || ']}' as json
    from (select ${columns}, ${stamps} from prenotazioni order by id limit 100) r`
  return reply.type('application/json; charset=utf-8').send(row!.json)
})

app.get<{ Querystring: { start: string, end: string } }>('/mese', async ({ query: { start, end } }, reply) => {
  const [row] = await sql<{ json: string }[]>`
    select '[' || string_agg(row_to_json(r)::text, ',' order by start, id) || ']' as json
    from (select id, nome_cognome as title, check_in as start, check_out as "end", '/prenotazioni/' || id as url, stato
      from prenotazioni
      where daterange(check_in, check_out, '[)') && daterange(${start}::date, ${end}::date, '[)')) r`
  return reply.type('application/json; charset=utf-8').send(row!.json)
})

// The minimum for a request with a database: one prepared statement that reads no table.
app.get(BARE, async () => (await sql`select ${1}::int as one`)[0])

app.post<{ Body: Record<string, string | number> }>(
  '/api/v1/prenotazioni',
  { schema: { response: { 201: BookingResponse(201) } } },
  async (request, reply) => {
    const { nome_cognome = '', lingua = '', email = '', paese_id = 0, check_in = '', check_out = '' } = request.body
    const { numero_ospiti = 0 } = request.body
    const [data] = await sql`
      insert into prenotazioni (nome_cognome, lingua, email, paese_id, check_in, check_out, numero_ospiti)
      values (${nome_cognome}, ${lingua}, ${email}, ${paese_id}, ${check_in}, ${check_out}, ${numero_ospiti})
      returning ${columns}, ${stamps}, versione`
    reply.code(201)
    return { data, status: 201 }
  }
)

process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)

/** Makes the driver return the text of a type unchanged. */
function asText (oid: number) {
  return { to: oid, from: [oid], serialize: String, parse: String }
}
