import { Type, type Static } from '@sinclair/typebox'
import { Closed, errorWith, FieldError, Nullable, Open } from './common.ts'

/* The SQL console. */

export const SqlQuery = Closed({
  password: Type.String({ minLength: 1, maxLength: 200, description: 'QUERY_PASSWORD del server' }),
  sql: Type.String({
    minLength: 1,
    maxLength: 100_000,
    pattern: '^[^\\u0000\\ud800-\\udfff]*$',
    description: 'Una sola istruzione'
  })
}, {
  examples: [{ password: 'una-password-lunga', sql: 'select id, nome_cognome from prenotazioni where id = 1' }]
})
export type SqlQuery = Static<typeof SqlQuery>

const SqlField = Closed({
  name: Type.String({ description: 'Il nome nelle righe: se si ripete, dal secondo in poi con _2, _3 …' }),
  type: Type.String({ description: 'Il tipo, come lo scrive PostgreSQL' })
})
export type SqlField = Static<typeof SqlField>

export const SqlResponse = Closed({
  data: Type.Array(Open({}), {
    description: 'Le righe. Numeri per smallint, integer, real e double precision; booleani; json e jsonb come sono; ' +
      'ogni altro tipo come testo di PostgreSQL'
  }),
  rowCount: Type.Integer({ minimum: 0, description: 'Righe restituite o modificate' }),
  fields: Type.Array(SqlField),
  status: Type.Integer()
}, {
  examples: [{
    data: [{ id: 1, nome_cognome: 'Giulia Bianchi' }],
    rowCount: 1,
    fields: [{ name: 'id', type: 'integer' }, { name: 'nome_cognome', type: 'text' }],
    status: 200
  }]
})

/** A statement that PostgreSQL rejected: 400. */
export const SqlFailure = errorWith({
  sqlstate: Type.String({ minLength: 5, maxLength: 5 }),
  posizione: Nullable(Type.Integer({ minimum: 1, description: 'Il carattere dell’istruzione, da 1' })),
  messaggio: Type.String({ description: 'Il messaggio di PostgreSQL' }),
  dettagli: Type.Array(FieldError)
}, {
  $id: 'SqlNonValido',
  examples: [{
    error: 'L’istruzione non è corretta o nomina qualcosa che non c’è',
    status: 400,
    codice: 'SQL_NON_VALIDO',
    requestId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f',
    sqlstate: '42703',
    posizione: 8,
    messaggio: 'column "nome" does not exist',
    dettagli: [{ campo: 'sql', messaggio: 'L’istruzione non è corretta o nomina qualcosa che non c’è' }]
  }]
})
