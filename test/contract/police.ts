import { LAYOUT, LENGTH } from '#src/alloggiati/codec/layout.ts'
import type { InvioResponse } from '#schemas/alloggiati.ts'
import type { Codici } from '#schemas/codici.ts'
import { family, foreigner, single } from '#test/alloggiati/rules/samples.ts'
import { response, closedPort } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, invio, production, rowsReply, standIn } from '#test/alloggiati/stand-in.ts'
import { booking } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { anError, anyText, exactly, INSTANT, type Wanted } from './exactly.ts'
import { TODAY, type SharedServer, type Prove } from './shared-server.ts'

const PATH = '/api/alloggiati'
const STAY = { check_in: TODAY, numero_notti: 3 }

const remark = (campo: string): Wanted => ({ ospite: 0, campo, messaggio: /^\p{Lu}/u })
const code: Wanted = { codice: /^\w+$/, descrizione: /./ }
/** Checks that every entry has these two fields. */
const codes = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every((each: object) =>
  Object.keys(each).sort().join() === 'codice,descrizione')

/** Rows about the police service. */
export async function policeRows ({ t, key, url, dataDir }: SharedServer, prove: Prove): Promise<void> {
  const send = async (ospiti: object[], more: object = {}) =>
    await key('POST', `${PATH}/invio`, { ospiti, prenotazione: STAY, ...more })
  const check = async (...ospiti: object[]) => await key('POST', `${PATH}/valida`, { ospiti, prenotazione: STAY })
  const acquired = async () =>
    (await key('GET', `${PATH}/sandbox/schedine`)).json<{ data: { riga: string }[] }>().data.map(({ riga }) => riga)
  const sent = (metodo: string, ricevuta: Wanted): Wanted => ({
    success: true, message: /^1 schedina/, ricevuta, dettagli: { schedine_inviate: 1, metodo, prenotazione_id: null }
  })
  const said = 'SCHEDINA_CAMPO_NON_CORRETTO'
  const failed: Record<string, Wanted> = {
    success: false,
    ricevuta: /^AW-/,
    dettagli: { codice_errore: '12', messaggio_soap: `ospite 1: ${said}: Numero Documento non valido` },
    schedine: [{
      ospite: 0,
      esito: 'rifiutata',
      codice_errore: '12',
      messaggio_soap: said,
      dettaglio: 'Numero Documento non valido'
    }]
  }

  await prove('E08', async (t) => {
    exactly(t, await key('GET', `${PATH}/check`), 200, {
      connected: true, message: /./, endpoint: /^http:\/\/127\.0\.0\.1:/
    })
  })

  // A second server, whose police service refuses connections.
  const cutOff = await production(t, { endpoint: await closedPort() })
  for (const row of ['F7', 'C10'] as const) {
    await prove(row, async (t) => {
      const response = await cutOff.call('GET', `${PATH}/check`)
      const error = /^Alloggiati Web: connessione rifiutata/
      exactly(t, response, 503, { ...anError(503, error, { connected: false }), codice: 'SERVIZIO_NON_RAGGIUNGIBILE' })
      t.match(response.headers['retry-after'], /^\d+$/)
    })
  }

  await prove('E09', async (t) => {
    exactly(t, await check(single()), 200, { valid: true, errors: [], warnings: [] })
    exactly(t, await key('POST', `${PATH}/valida`, {}), 400, anError(400, /./, {
      dettagli: [{ campo: 'ospiti', messaggio: /./ }, { campo: 'prenotazione', messaggio: /./ }]
    }))
  })
  await prove('V1', async (t) => {
    const { errors } = exactly<{ errors: object[] }>(t, await check(family()[0]!, single({ sesso: 'X' })), 200, {
      valid: false, errors: (value) => Array.isArray(value), warnings: (value) => Array.isArray(value)
    })
    t.match(errors.find((each) => 'campo' in each && each.campo === 'sesso'), { ospite: 1, messaggio: String })
  })
  await prove('V2', async (t) => {
    const strange = single({ numero_documento: '1' })
    exactly(t, await check(strange), 200, { valid: true, errors: [], warnings: [remark('numero_documento')] })
    exactly(t, await check(single({ sesso: 'X' })), 200, { valid: false, errors: [remark('sesso')], warnings: [] })
  })
  await prove('V3', async (t) => {
    exactly(t, await check(foreigner({ provincia_nascita: 'RM' })), 200, {
      valid: false, errors: [remark('provincia_nascita')], warnings: []
    })
    exactly(t, await check(foreigner({ numero_documento: '1' })), 200, {
      valid: true, errors: [], warnings: [remark('numero_documento')]
    })
  })
  await prove('V4', async (t) => { t.equal((await check({})).statusCode, 200) })

  await prove('I1', async (t) => {
    const before = await acquired()
    exactly(t, await send([single()], { testMode: true }), 200, sent('Test', ''))
    t.same(await acquired(), before)
  })
  await prove('E10', async (t) => {
    exactly(t, await send([single()]), 200, sent('Send', /^AW-20261123-\d+$/))
    const ospiti = [foreigner()]
    exactly(t, await key('POST', `${PATH}/invio`, { ospiti, soggiorno: STAY }), 200, sent('Send', /^AW-/))
    exactly(t, await key('POST', `${PATH}/invio`, { ospiti }), 400, anError(400, /./, {
      dettagli: [{ campo: 'prenotazione', messaggio: /soggiorno/ }]
    }))
  })
  await prove('I2', async (t) => {
    const before = await acquired()
    t.equal((await send([single({ cognome: 'REGISTRATI', numero_documento: 'CA00001AA' })])).statusCode, 200)
    const after = await acquired()
    t.equal(after.length, before.length + 1)
    t.match(after.at(-1), /REGISTRATI/)
  })
  await prove('I3', async (t) => {
    const response = await send([single({ cognome: 'RIUSCITI', numero_documento: 'CA00002AA' })])
    exactly<InvioResponse>(t, response, 200, sent('Send', /^AW-/))
  })
  // The server's rules accept this record, and only the police service rejects it.
  const police = await standIn(t)
  police.on.Send = response(rowsReply('Send', [false]))
  const real = await production(t, police)
  for (const [at, row] of (['I4', 'F8', 'C7'] as const).entries()) {
    await prove(row, async (t) => {
      const refused = await real.call('POST', `${PATH}/invio`, invio([guestNo(at + 1)]))
      exactly(t, refused, 422, { ...anError(422, /: ospite 1: /, failed), codice: 'SCHEDINE_RIFIUTATE' })
      t.equal(police.callsOf('Send').length, at + 1, "the response is the service's own")
    })
  }
  await prove('I5', async (t) => {
    const guest = single({ cognome: 'FERMATI', data_nascita: '2026-13-01' })
    t.match((await check(guest)).json(), { valid: false })
    const before = await acquired()
    exactly(t, await send([guest]), 422, {
      ...anError(422, /./, {
        success: false,
        dettagli: { codice_errore: 'VALIDAZIONE', messaggio_soap: anyText },
        errors: [remark('data_nascita')]
      }),
      codice: 'VALIDAZIONE'
    })
    t.same(await acquired(), before)
  })

  await prove('E12', async (t) => {
    const day = '2026-10-05'
    const created = await key('POST', '/api/v1/prenotazioni', booking({ check_in: day }))
    const made = created.json<{ data: { id: number } }>()
    exactly(t, await key('GET', `${PATH}/verifica-ricevute?da=${day}&a=${day}`), 200, {
      totale_prenotazioni: 1,
      totale_ricevute: 0,
      mancanti: [{
        prenotazione_id: made.data.id,
        nome_cognome: 'Anna Bianchi',
        check_in: day,
        scadenza: INSTANT,
        ospiti_mancanti: 2
      }],
      in_attesa: [],
      proroghe: [],
      discordanze: []
    })
  })

  await prove('E13', async (t) => {
    exactly(t, await key('GET', `${PATH}/codici`), 200, {
      tipi_documento: codes, paesi: codes, comuni: codes, province: codes, tipi_alloggiato: codes
    })
    const { tipi_documento } = (await key('GET', `${PATH}/codici`)).json<Codici>()
    const known = tipi_documento.map(({ codice }) => codice)
    for (const codice of ['PASOR', 'IDELE', 'IDENT', 'PATEN']) t.ok(known.includes(codice), codice)
    exactly(t, await key('GET', `${PATH}/codici?q=PASOR&limit=1`), 200, {
      tipi_documento: [code], paesi: [], comuni: [], province: [], tipi_alloggiato: []
    })
  })

  await prove('F5', async (t) => {
    exactly(t, await key('GET', `${PATH}/ricevute?data=2026-11-10`), 404, anError(404, /./))
  })

  await prove('L4', async (t) => {
    t.equal(LENGTH, 168)
    for (const line of await acquired()) t.equal(line.length, 168)
  })
  await prove('L5', async (t) => {
    const [line = ''] = (await acquired()).filter((each) => each.includes('REGISTRATI'))
    const fields = LAYOUT.map(({ start, length }) => line.slice(start - 1, start - 1 + length).trim())
    t.strictSame(fields, [
      '16', '23/11/2026', '03', 'REGISTRATI', 'MARCO', '1', '15/05/1980', '412058091', 'RM', '100000100', '100000100',
      'IDELE', 'CA00001AA', '412058091'
    ])
    t.strictSame(LAYOUT.map(({ length }) => length), [2, 10, 2, 50, 30, 1, 10, 9, 2, 9, 9, 5, 20, 9])
  })

  // The receipt of a day is available on the next day, so a second server has that date in its sandbox.
  await prove('E11', async (t) => {
    const next = await build(t, { TODAY: '2026-11-24', DATABASE_URL: url, DATA_DIR: dataDir })
    const response = await next.call('GET', `${PATH}/ricevute?data=${TODAY}`)
    t.equal(response.statusCode, 200, response.body.slice(0, 200))
    t.match(response.headers, {
      'content-type': 'application/pdf', 'content-disposition': `attachment; filename=ricevuta_${TODAY}.pdf`
    })
    t.equal(response.rawPayload.subarray(0, 5).toString(), '%PDF-')
    exactly(t, await key('GET', `${PATH}/ricevute`), 400,
      anError(400, /./, { dettagli: [{ campo: 'data', messaggio: /./ }] }))
  })
}
