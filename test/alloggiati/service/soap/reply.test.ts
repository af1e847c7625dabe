import t from 'tap'
import { SoapFault, SoapTransportError } from '#src/alloggiati/service/soap/errors.ts'
import { CALLS, failureOf } from './calls.ts'
import { answer, clientOf, fixture, recorder, respond } from './server.ts'
import { envelope } from './xml.ts'

const SEND = fixture('Send-risposta')

t.test('a fault is a fault in both versions and with any HTTP status', async (t) => {
  for (const status of ['200 OK', '400 Bad Request', '500 Internal Server Error']) {
    const httpStatus = Number(status.slice(0, 3))
    const old = await failureOf(CALLS.Send(clientOf(await recorder(t, respond(status, fixture('fault-soap11'))))))
    const text = 'Server was unable to read request. ---> There is an error in XML document (1, 2).'
    t.match(old, { name: 'SoapFault', kind: 'fault', sent: true, httpStatus, code: 'Client', text })
    const present = await failureOf(CALLS.Send(clientOf(await recorder(t, respond(status, fixture('fault-soap12'))))))
    t.match(present, {
      name: 'SoapFault',
      kind: 'fault',
      sent: true,
      httpStatus,
      code: 'Server',
      text: 'Server was unable to process request.'
    })
    t.ok(present instanceof SoapFault && present instanceof SoapTransportError)
  }
})

t.test('the reply of a failed call is kept as evidence, out of sight of loggers', async (t) => {
  const page = '<html>però</html>'
  const server = await recorder(t, respond('500 Internal Server Error', page))
  const error = await failureOf(CALLS.Send(clientOf(server)))
  t.match(error, { raw: page })
  t.notMatch(JSON.stringify(error), 'html')
})

t.test('only the expected element in the expected namespaces is an answer', async (t) => {
  const send = /<SendResponse.*<\/SendResponse>/.exec(SEND)?.[0] ?? ''
  const wrong: Record<string, string> = {
    'the answer of another operation': fixture('Test-risposta-mista'),
    'the request sent back': fixture('Send-richiesta'),
    'no namespace': SEND.replace(' xmlns="AlloggiatiService"', ''),
    'another namespace': SEND.replace('"AlloggiatiService"', '"http://servizio.example/"'),
    'an envelope of another namespace': SEND.replace(
      'http://www.w3.org/2003/05/soap-envelope',
      'http://servizio.example/'
    ),
    'a Body of another namespace': SEND.replace('<soap:Body>', '<Body xmlns="http://servizio.example/">').replace(
      '</soap:Body>',
      '</Body>'
    ),
    'no envelope': send,
    'an empty Body': envelope(''),
    'two answers in the Body': envelope(send + send),
    'another element before the answer': envelope(`<a/>${send}`),
    'another element after the answer': envelope(`${send}<a/>`),
    'two Bodies': SEND.replace('</soap:Envelope>', `<soap:Body>${send}</soap:Body></soap:Envelope>`),
    'a document type': SEND.replace('?>', '?><!DOCTYPE a [<!ENTITY b "c">]>'),
    'an undeclared entity': SEND.replace('<ErroreDes/>', '<ErroreDes>&b;</ErroreDes>'),
    'something after the end': `${SEND}<a/>`,
    'a reference by id': SEND.replace('<SendResult>', '<SendResult id="__proto__">'),
    'a name without prefix declared': SEND.replace('<SendResult>', '<x:SendResult>').replace(
      '</SendResult>',
      '</x:SendResult>'
    )
  }
  for (const [name, body] of Object.entries(wrong)) {
    t.not(body, SEND)
    const server = await recorder(t, answer(body))
    t.match(await failureOf(CALLS.Send(clientOf(server))), { kind: 'malformed', sent: true, httpStatus: 200 }, name)
  }
})

t.test('an element that is missing, repeated or of another type makes the answer malformed', async (t) => {
  const wrong: Record<string, [from: string, to: string]> = {
    'no outcome of the call': ['SendResult', 'AltroResult'],
    'two outcomes of the call': ['<result>', '<SendResult><esito>true</esito></SendResult><result>'],
    'no esito': ['<esito>true</esito>', ''],
    'an empty esito': ['<esito>true</esito>', '<esito/>'],
    'an esito that is neither true nor false': ['<esito>true</esito>', '<esito>forse</esito>'],
    'two values of esito': ['<esito>true</esito>', '<esito>true</esito><esito>false</esito>'],
    'an outcome that is only text': [
      '<SendResult><esito>true</esito><ErroreCod/><ErroreDes/><ErroreDettaglio/></SendResult>',
      '<SendResult>true</SendResult>'
    ],
    'no count': ['<SchedineValide>1</SchedineValide>', ''],
    'a count in words': ['<SchedineValide>1<', '<SchedineValide>una<'],
    'a negative count': ['<SchedineValide>1<', '<SchedineValide>-1<'],
    'a nil row': ['<Dettaglio>', '<Dettaglio><EsitoOperazioneServizio xsi:nil="true"/>'],
    'text among the rows': ['<Dettaglio>', '<Dettaglio>testo'],
    'a text with elements in it': ['<ErroreDes/>', '<ErroreDes><a/></ErroreDes>']
  }
  for (const [name, [from, to]] of Object.entries(wrong)) {
    const body = SEND.replaceAll(from, to)
    t.not(body, SEND)
    const server = await recorder(t, answer(body))
    t.match(await failureOf(CALLS.Send(clientOf(server))), { kind: 'malformed', sent: true }, name)
  }
})

t.test('a reply is read in the charset that it declares, and refused when its bytes are of another', async (t) => {
  const text = SEND.replace('<ErroreDes/>', '<ErroreDes>però</ErroreDes>')
  const latin = Buffer.from(text, 'latin1')
  const declared = await recorder(t, respond('200 OK', latin, 'Content-Type: text/xml; charset=ISO-8859-1'))
  t.match((await CALLS.Send(clientOf(declared))).result, { SendResult: { ErroreDes: 'però' } })
  const within = await recorder(
    t,
    respond('200 OK', Buffer.from(text.replace('utf-8', 'iso-8859-1'), 'latin1'), 'Content-Type: text/xml')
  )
  t.match((await CALLS.Send(clientOf(within))).result, { SendResult: { ErroreDes: 'però' } })
  for (const type of [
    'Content-Type: text/xml',
    'Content-Type: text/xml; charset=utf-8',
    'Content-Type: text/xml; charset=inventato'
  ]) {
    t.match(
      await failureOf(CALLS.Send(clientOf(await recorder(t, respond('200 OK', latin, type))))),
      { kind: 'malformed', sent: true },
      type
    )
  }
})

t.test('a byte order mark and another prefix change nothing', async (t) => {
  const server = await recorder(t, answer(`\uFEFF${SEND.replaceAll('soap:', 's:').replace('xmlns:soap=', 'xmlns:s=')}`))
  t.match((await CALLS.Send(clientOf(server))).result, { SendResult: { esito: true }, result: { SchedineValide: 1 } })
})
