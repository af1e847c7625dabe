import { readFile } from 'node:fs/promises'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { startSandbox } from '#src/alloggiati/service/sandbox/sandbox.ts'
import { envelope, type Version, VERSIONS } from '#test/alloggiati/service/soap/xml.ts'
import { testDatabase } from '#test/database.ts'
import { ACCOUNT, clockAt, every, first, headersOf, list, login, type Reply, sandbox, session } from './client.ts'
import { guest } from './guest.ts'

const BOTH = [1.1, 1.2] as const
const WSDL = new URL('../../../../src/alloggiati/service/soap/service.wsdl', import.meta.url)

t.test('the wire', async (t) => {
  const { db } = await testDatabase(t)
  const { endpoint, post, call, token: getToken } = await sandbox(t, db, clockAt('2026-11-21T09:00:00Z'))
  const token = await getToken()
  const validTest = `<a:Test>${session(token)}${list([guest()])}</a:Test>`

  t.test('the WSDL is that of the service, with no address but this one', async (t) => {
    const reply = await fetch(`${endpoint}?wsdl`)
    const text = await reply.text()
    t.equal(reply.headers.get('content-type'), 'text/xml; charset=utf-8')
    t.same([...text.matchAll(/location="([^"]*)"/g)].map(([, address]) => address), [endpoint, endpoint])
    t.notMatch(text, 'poliziadistato')
    t.equal(text.replaceAll(endpoint, ''), (await readFile(WSDL, 'utf8')).replace(/(location=")[^"]*/g, '$1'))
    t.equal((await fetch(endpoint)).status, 404)
  })

  t.test('every operation of the WSDL is answered in both versions, with its own response element', async (t) => {
    const names = [
      ...new Set(
        [...(await readFile(WSDL, 'utf8')).matchAll(/soapAction="AlloggiatiService\/(\w+)"/g)].map(
          ([, name = '']) => name
        )
      )
    ]
    t.equal(names.length, 12)
    for (const name of names) {
      const required = /Appartamenti_(Test|Send|Disabilita)/.test(name)
        ? '<a:IdAppartamento>000004</a:IdAppartamento>'
        : ''
      const special: Record<string, string> = {
        Tabella: '<a:tipo>TipoErrore</a:tipo>',
        Ricevuta: '<a:Data>2026-11-20T00:00:00</a:Data>'
      }
      for (const version of BOTH) {
        const reply = await call(name, session('no-such-token') + required + (special[name] ?? ''), version)
        if (name === 'GenerateToken') {
          isFault(t, reply, version, 'Client', /token .* was not expected/)
        } else {
          t.equal(reply.status, 200, name)
          t.match(reply.text, `<${name}Response xmlns="AlloggiatiService"><${name}Result><esito>false</esito>`)
        }
      }
    }
  })

  t.test('a reply has the elements, order and declarations of the service\'s sample', async (t) => {
    const { status, type, text } = await call('Authentication_Test', session(token))
    t.equal(status, 200)
    t.equal(type, 'application/soap+xml; charset=utf-8')
    t.equal(
      text,
      '<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="http://www.w3.org/2003/05/soap-envelope" ' +
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">' +
        '<soap:Body><Authentication_TestResponse xmlns="AlloggiatiService"><Authentication_TestResult>' +
        '<esito>true</esito><ErroreCod/><ErroreDes/><ErroreDettaglio/>' +
        '</Authentication_TestResult></Authentication_TestResponse></soap:Body></soap:Envelope>'
    )
    const mixed = await call('Test', session(token) + list(['short', guest(), guest({ arrivo: '01/11/2026' })]))
    t.match(
      mixed.text,
      '<TestResult><esito>true</esito><ErroreCod/><ErroreDes/><ErroreDettaglio/></TestResult>' +
        '<result><SchedineValide>1</SchedineValide><Dettaglio>' +
        '<EsitoOperazioneServizio><esito>false</esito><ErroreCod>11</ErroreCod>' +
        '<ErroreDes>SCHEDINA_FORMATO_NON_CORRETTO</ErroreDes>' +
        '<ErroreDettaglio>Dimensione Riga errata</ErroreDettaglio></EsitoOperazioneServizio>' +
        '<EsitoOperazioneServizio><esito>true</esito><ErroreCod/><ErroreDes/><ErroreDettaglio/>' +
        '</EsitoOperazioneServizio>' +
        '<EsitoOperazioneServizio><esito>false</esito><ErroreCod>12</ErroreCod>' +
        '<ErroreDes>SCHEDINA_CAMPO_NON_CORRETTO</ErroreDes>' +
        '<ErroreDettaglio>Data di Arrivo Errata</ErroreDettaglio></EsitoOperazioneServizio>' +
        '</Dettaglio></result></TestResponse>'
    )
  })

  t.test(
    'SOAP 1.1 needs the SOAPAction of the operation in its body; in 1.2 an action may be left out but not be another',
    async (t) => {
      const login11 = envelope(`<a:GenerateToken>${login()}</a:GenerateToken>`, 1.1)
      const unnamed = { 'content-type': 'text/xml' }
      isFault(
        t,
        await post(login11, unnamed),
        1.1,
        'Client',
        /^Server did not recognize the value of HTTP Header SOAPAction: \.$/
      )
      isFault(
        t,
        await post(login11, { ...unnamed, soapaction: 'AlloggiatiService/Cancella' }),
        1.1,
        'Client',
        /SOAPAction: AlloggiatiService\/Cancella/
      )
      isFault(
        t,
        await post(login11, { ...unnamed, soapaction: 'AlloggiatiService/Send' }),
        1.1,
        'Client',
        /GenerateToken .* was not expected/
      )
      t.equal((await post(login11, { ...unnamed, soapaction: 'AlloggiatiService/GenerateToken' })).status, 200)
      const login12 = envelope(`<a:GenerateToken>${login()}</a:GenerateToken>`, 1.2)
      const type = 'application/soap+xml; charset=UTF-8; action='
      t.equal((await post(login12, { 'content-type': `${type}"AlloggiatiService/GenerateToken"` })).status, 200)
      isFault(
        t,
        await post(login12, { 'content-type': `${type}"AlloggiatiService/Send"` }),
        1.2,
        'Client',
        /was not expected/
      )
    }
  )

  const prefix = session(token)
  const rows = list([guest()])
  const UNREADABLE: Record<string, string> = {
    'an unknown element': `<a:Test>${prefix}${rows}<a:Altro/></a:Test>`,
    'elements out of order': `<a:Test>${rows}${prefix}</a:Test>`,
    'a child without the namespace': `<a:Test>${prefix}<ElencoSchedine><string>x</string></ElencoSchedine></a:Test>`,
    'an operation without the namespace': `<Test>${prefix}${rows}</Test>`,
    'text among elements': `<a:Test>${prefix}text${rows}</a:Test>`,
    'a required element left out': `<a:Tabella>${prefix}</a:Tabella>`,
    'a table that does not exist': `<a:Tabella>${prefix}<a:tipo>0</a:tipo></a:Tabella>`,
    'a date that does not exist': `<a:Ricevuta>${prefix}<a:Data>2026-02-30T00:00:00</a:Data></a:Ricevuta>`,
    'two elements in the body': validTest + validTest,
    'an entity that is not declared': `<a:Test>&entity;${prefix}</a:Test>`,
    'an element that is not closed': `<a:Test>${prefix}`
  }
  const DOCUMENTS: Record<string, string> = {
    'a DOCTYPE':
      '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + envelope(validTest).replace(/^<\?.*?\?>/, ''),
    'another declared encoding': envelope(validTest).replace('utf-8', 'ISO-8859-1'),
    'a second body': envelope(validTest).replace('<s:Body>', '<s:Body/><s:Body>'),
    'nothing at all': ''
  }

  t.test('a request that cannot be read is a fault of the sender, in the version of the request', async (t) => {
    const reason = /^Server was unable to read request\. ---&gt; /
    for (const [title, body] of Object.entries(UNREADABLE)) {
      const operation = /<(?:a:)?(\w+)/.exec(body)?.[1] ?? 'Test'
      for (const version of BOTH) {
        isFault(t, await post(envelope(body, version), headersOf(operation, version)), version, 'Client', reason, title)
      }
    }
    for (const [title, document] of Object.entries(DOCUMENTS)) {
      isFault(t, await post(document, headersOf('Test', 1.2)), 1.2, 'Client', reason, title)
    }
  })

  t.test('bytes that are not UTF-8 are refused, not repaired', async (t) => {
    const body = new Uint8Array(Buffer.from(envelope(validTest).replace('ANNA', 'ANN\u00c0'), 'latin1'))
    isFault(t, await post(body, headersOf('Test', 1.2)), 1.2, 'Client', /not UTF-8/)
  })

  t.test('any prefix, CDATA, character references, comments, a BOM and the by-ref parameter are read', async (t) => {
    const [head, tail] = [guest().slice(0, 20), guest().slice(20)]
    const body =
      `\ufeff<E xmlns="${VERSIONS[1.2].namespace}"><Body><Test xmlns="AlloggiatiService">` +
      `<Utente>${ACCOUNT.utente}</Utente><token>${token}</token><ElencoSchedine><string>${head}<!-- ' -->` +
      `<![CDATA[${tail.slice(0, 50)}]]>${tail.slice(50).replaceAll(' ', '&#x20;')}</string></ElencoSchedine>` +
      '<result><SchedineValide>0</SchedineValide><Dettaglio/></result></Test></Body></E>'
    const { text } = await post(body.replaceAll('E>', 'Envelope>').replace('<E ', '<Envelope '), headersOf('Test', 1.2))
    t.equal(first(text, 'SchedineValide'), '1')
  })

  t.test('rows keep their trailing blanks: one more or less is another length', async (t) => {
    const row = guest({ rilascio: '412058091' })
    const family = [guest({ tipo: '17' }), guest({ tipo: '19', documento: '', numero: '', rilascio: '' })]
    t.ok(family[1]?.endsWith(' '.repeat(34)))
    const { text } = await call(
      'Test',
      session(token) + list([...family, `${family[1]} `, family[1]?.slice(0, -1) ?? '', `${row}\r\n`])
    )
    t.same(every(text, 'ErroreDettaglio'), ['', '', '', ...Array(3).fill('Dimensione Riga errata')])
  })

  t.test('a media type or charset that is none of SOAP is 415, a body beyond 4 MiB is 413', async (t) => {
    const body = envelope(validTest)
    t.equal((await post(body, { 'content-type': 'application/json' })).status, 415)
    t.equal((await post(body, { 'content-type': 'text/xml; charset=iso-8859-1' })).status, 415)
    t.equal((await post(new Uint8Array(Buffer.from(body)), {})).status, 415)
    t.equal((await post(' '.repeat(4 * 1024 * 1024 + 1), headersOf('Test', 1.2))).status, 413)
  })
})

t.test('a failure of the sandbox itself is a fault of the receiver that tells nothing of its inside', async (t) => {
  const { db, close } = await testDatabase(t)
  const { call } = await sandbox(t, db, clockAt('2026-11-21T09:00:00Z'))
  await close()
  for (const version of BOTH) {
    isFault(
      t,
      await call('GenerateToken', login(), version),
      version,
      'Server',
      /^Server was unable to process request\.$/
    )
  }
})

t.test('it listens on loopback only', async (t) => {
  const { db } = await testDatabase(t)
  const options = { db, clock: clockAt('2026-11-21T09:00:00Z'), log: Fastify().log, credentials: ACCOUNT }
  await t.rejects(startSandbox({ ...options, host: '0.0.0.0' }), /loopback/)
})

function isFault (
  t: Test, { status, type, text }: Reply, version: Version, code: string, reason: RegExp, title = ''
): void {
  const code12: Record<string, string> = { Client: 'Sender', Server: 'Receiver' }
  const [codeElement, reasonElement] = version === 1.1 ? ['faultcode', 'faultstring'] : ['Value', 'Text']
  t.equal(status, 500, title)
  t.equal(type, `${VERSIONS[version].mediaType}; charset=utf-8`)
  t.match(text, `xmlns:soap="${VERSIONS[version].namespace}"`)
  t.equal(first(text, codeElement ?? ''), `soap:${version === 1.1 ? code : code12[code] ?? code}`)
  t.match(first(text, reasonElement ?? ''), reason, title)
}
