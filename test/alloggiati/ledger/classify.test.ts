import fc from 'fast-check'
import t from 'tap'
import { classifyFailure, classifyLogin, classifyReply } from '#src/alloggiati/ledger/sending/classify.ts'
import type { SendReply } from '#src/alloggiati/service/calls.ts'
import {
  AlloggiatiCredentialsError,
  SoapFault,
  SoapTransportError,
  type FailureKind
} from '#src/alloggiati/service/soap/errors.ts'

const names = fc.constantFrom(
  '',
  'TOKEN_NON_VALIDO',
  'AUTENTICAZIONE_FALLITA',
  'ERRORE_PARAMETRO_ERRATO',
  'ERRORE_GENERICO',
  'SCHEDINA_CAMPO_NON_CORRETTO'
)
const outcome = fc.record({
  esito: fc.boolean(),
  ErroreCod: fc.constantFrom('', '12', '100'),
  ErroreDes: names,
  ErroreDettaglio: fc.constant('')
})
const reply: fc.Arbitrary<SendReply> = fc.record({
  esito: outcome,
  result: fc.option(fc.record({ SchedineValide: fc.nat(4), Dettaglio: fc.array(outcome, { maxLength: 4 }) }), {
    nil: undefined
  }),
  httpStatus: fc.constant(200),
  raw: fc.string()
})
const rows = fc.integer({ min: 1, max: 4 })

t.test('a verdict is `acquisito` exactly when every row is true and the counts agree', async (t) => {
  fc.assert(fc.property(reply, rows, (reply, rows) => {
    const { stato } = classifyReply(reply, rows)
    const details = reply.result?.Dettaglio ?? []
    const proven =
      reply.esito.esito &&
      details.length === rows &&
      reply.result?.SchedineValide === rows &&
      details.every(({ esito }) => esito)
    return (stato === 'acquisito') === proven
  }), { numRuns: 2000 })
  t.equal(classifyReply({ ...good(2) }, 2).stato, 'acquisito', 'and that is reached')
})

t.test('a verdict has one outcome a row, and a row is `acquisita` only where the service said so of it', async () => {
  fc.assert(fc.property(reply, rows, (reply, rows) => {
    const { schedine } = classifyReply(reply, rows)
    return (
      schedine.length === rows &&
      schedine.every(({ esito }, at) => esito !== 'acquisita' || reply.result?.Dettaglio[at]?.esito === true)
    )
  }), { numRuns: 2000 })
})

t.test('a guest is free again only when no row of the reply says that one was acquired', async () => {
  fc.assert(fc.property(reply, rows, (reply, rows) => {
    const { tentativo, stato } = classifyReply(reply, rows)
    const anyAccepted =
      reply.result?.Dettaglio.some(({ esito }) => esito) === true || (reply.result?.SchedineValide ?? 0) > 0
    return !(anyAccepted && (tentativo === 'N' || stato === 'non_inviato' || stato === 'rifiutato'))
  }), { numRuns: 2000 })
})

t.test('a refusal of the whole call proves nothing unless it is of a known kind', async (t) => {
  const refusal = (ErroreDes: string) =>
    classifyReply(
      { ...good(0), esito: { esito: false, ErroreCod: '9', ErroreDes, ErroreDettaglio: '' }, result: undefined },
      1
    ).stato
  t.equal(refusal('TOKEN_NON_VALIDO'), 'non_inviato')
  t.equal(refusal('AUTENTICAZIONE_FALLITA'), 'non_inviato')
  t.equal(refusal('ERRORE_PARAMETRO_ERRATO'), 'non_inviato')
  for (const name of ['', 'ERRORE_GENERICO', 'TIMEOUT', 'ERRORE_DATABASE']) t.equal(refusal(name), 'sconosciuto', name)
})

t.test('every error that proves nothing is `sconosciuto`', async () => {
  fc.assert(fc.property(fc.anything(), rows, (thrown, rows) => {
    const { stato, tentativo, schedine } = classifyFailure(thrown, rows)
    return (
      stato === 'sconosciuto' &&
      tentativo === '?' &&
      schedine.length === rows &&
      schedine.every(({ esito }) => esito === 'sconosciuta')
    )
  }))
})

const kinds = fc.constantFrom<FailureKind>(
  'invalid-request',
  'before-write',
  'dns',
  'refused',
  'unreachable',
  'connect-timeout',
  'tls',
  'aborted',
  'timeout',
  'reset',
  'http-status',
  'redirect',
  'too-large',
  'malformed',
  'fault'
)
const statuses = fc.oneof(fc.constantFrom(404, 405, 413, 415), fc.integer({ min: 100, max: 599 }))

t.test('a failed call is not sent exactly when the transport proves it, or a web server turned it away', async () => {
  fc.assert(
    fc.property(kinds, fc.boolean(), fc.option(statuses, { nil: undefined }), rows, (kind, sent, httpStatus, rows) => {
      const { stato } = classifyFailure(
        new SoapTransportError(kind, { sent, ...(httpStatus === undefined ? {} : { httpStatus }) }),
        rows
      )
      const turnedAway = kind === 'http-status' && [404, 405, 413, 415].includes(httpStatus ?? 0)
      return stato === (!sent || turnedAway ? 'non_inviato' : 'sconosciuto')
    }),
    { numRuns: 2000 }
  )
})

t.test('a fault proves nothing, with every status', async () => {
  fc.assert(fc.property(statuses, fc.constantFrom('Client', 'Server', ''), (httpStatus, code) => (
    classifyFailure(new SoapFault(code, 'testo', { httpStatus, raw: '' }), 1).stato === 'sconosciuto')))
})

t.test('without a login nothing is sent, after every kind of error', async (t) => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.anything(),
        kinds.map((kind) => new SoapTransportError(kind, { sent: true }))
      ),
      rows,
      (thrown, rows) => {
        const { stato, tentativo, causa } = classifyLogin(thrown, rows)
        return stato === 'non_inviato' && tentativo === 'N' && causa === 'SERVIZIO_NON_RAGGIUNGIBILE'
      }
    )
  )
  t.equal(classifyLogin(new AlloggiatiCredentialsError('100', 'rifiutate'), 1).causa, 'CREDENZIALI_RIFIUTATE')
})

function good (rows: number): SendReply {
  const esito = { esito: true, ErroreCod: '', ErroreDes: '', ErroreDettaglio: '' }
  return {
    esito,
    result: { SchedineValide: rows, Dettaglio: Array.from({ length: rows }, () => esito) },
    httpStatus: 200,
    raw: ''
  }
}
