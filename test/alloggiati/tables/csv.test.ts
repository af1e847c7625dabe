import t from 'tap'
import { bundledData } from '#src/alloggiati/tables/bundled.ts'
import { parseTabella, parseTabelle, TabellaError, type TipoTabella } from '#src/alloggiati/tables/csv.ts'
import { formatTabelle } from '#src/alloggiati/tables/format.ts'
import { createTables } from '#src/alloggiati/tables/tables.ts'

const data = { ...bundledData(), errori: [{ codice: '12', descrizione: 'SCHEDINA_CAMPO_NON_CORRETTO' }] }
const csvs = formatTabelle(data)

t.test('the five CSVs of the service give back the tables they were written from', async (t) => {
  t.equal(createTables(parseTabelle(csvs)).version, createTables(data).version)
  t.equal(parseTabelle(csvs).fonte, 'servizio')
  t.ok(csvs.Luoghi.includes("\n408040012;FORLI';FO;15/04/1992 00:00:00\n"))
})

t.test('CRLF, a byte order mark and blanks around are read alike', async (t) => {
  const other = `\uFEFF${csvs.Luoghi.replaceAll('\n', '\r\n')}\r\n`
  t.same(parseTabella('Luoghi', other), parseTabella('Luoghi', csvs.Luoghi))
  t.same(parseTabella('Tipi_Documento', `${csvs.Tipi_Documento}  \n\n`), data.documenti)
})

t.test('a state takes its ISO codes from the snapshot, a state unknown there has none', async (t) => {
  const { stati } = parseTabella('Luoghi', `${csvs.Luoghi}\n100009999;STATO DI PROVA;ES;`)
  t.match(stati.find(({ codice }) => codice === '100000216'), { iso2: 'DE', iso3: 'DEU' })
  t.match(stati.find(({ codice }) => codice === '100009999'), { descrizione: 'STATO DI PROVA', iso2: null, iso3: null })
})

t.test('the list of apartments is read as the manual shows it; an account without any gives nothing', async (t) => {
  const csv =
    'IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario\n0;CASA PROVA INT. 1;UDINE;UD;VIA PROVA N. 5;MARIO PROVA'
  t.same(parseTabella('ListaAppartamenti', csv), [
    {
      id: 0,
      descrizione: 'CASA PROVA INT. 1',
      comune: 'UDINE',
      provincia: 'UD',
      indirizzo: 'VIA PROVA N. 5',
      proprietario: 'MARIO PROVA'
    }
  ])
  t.same(parseTabella('ListaAppartamenti', ''), [])
  t.same(parseTabella('ListaAppartamenti', 'IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario'), [])
  t.equal(
    parseTabella('ListaAppartamenti', `${csv}; CON ALTRO TESTO`)[0]?.id,
    0,
    'a semicolon of the host spoils no refresh'
  )
})

t.test('what is not the table it should be is refused and the reason is said', async (t) => {
  const { Luoghi, Tipi_Documento: documenti, Tipi_Alloggiato: tipi } = csvs
  const withoutStates = Luoghi.split('\n').filter((line) => !line.includes(';ES;')).join('\n')
  const bad: [TipoTabella, string, RegExp][] = [
    ['Luoghi', '', /intestazione/],
    ['Luoghi', '<html><body>Servizio non disponibile</body></html>', /intestazione/],
    ['Luoghi', documenti, /intestazione/],
    ['Luoghi', Luoghi.slice(Luoghi.indexOf('\n') + 1), /intestazione/],
    ['Luoghi', Luoghi.slice(0, 100_000), /solo \d+ righe/],
    ['Luoghi', withoutStates, /solo 0 stati/],
    ['Luoghi', Luoghi.replace('\n100000100;', '\n100009100;'), /manca l'Italia/],
    ['Luoghi', Luoghi.replace('412058091;ROMA;RM;', '412058091;ROMA;RM'), /3 campi/],
    ['Luoghi', Luoghi.replace('412058091;', '41205809;'), /codice «41205809»/],
    ['Luoghi', Luoghi.replace('412058091;ROMA;', '412058091;;'), /descrizione vuota/],
    ['Luoghi', Luoghi.replace('412058091;', '403015146;'), /403015146 ripetuto/],
    ['Luoghi', Luoghi.replace('ROMA;RM;', 'ROMA;ES;'), /provincia «ES»/],
    ['Luoghi', Luoghi.replace('ROMA;RM;', 'ROMA;Roma;'), /provincia «Roma»/],
    ['Luoghi', Luoghi.replace('ITALIA;ES;', 'ITALIA;RM;'), /provincia «RM»/],
    ['Luoghi', Luoghi.replace('15/04/1992', '31/04/1992'), /data di fine/],
    ['Luoghi', Luoghi.replace('15/04/1992', '1992-04-15'), /data di fine/],
    ['Tipi_Documento', documenti.slice(0, 500), /solo \d+ righe/],
    ['Tipi_Documento', documenti.replace('IDELE;', 'IDEL;'), /codice «IDEL»/],
    ['Tipi_Alloggiato', tipi.replace(/\n20;.*/, ''), /solo 4 righe/],
    ['TipoErrore', 'Codice', /intestazione/],
    ['ListaAppartamenti', 'IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario\nX;A;B;C;D;E', /codice «X»/]
  ]
  for (const [tipo, csv, reason] of bad) {
    t.throws(
      () => parseTabella(tipo, csv),
      { name: 'TabellaError', tipo, message: reason },
      `${tipo}: ${reason.source}`
    )
  }
  t.ok(new TabellaError('Luoghi', 'prova').message.includes('Tabella Luoghi non accettata: prova'))
})
