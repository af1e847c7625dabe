import t from 'tap'
import { codici_tabelle as stored } from '#drizzle/tables/alloggiati.ts'
import { Codice } from '#schemas/codici.ts'
import { bundledData, bundledProvinces } from '#src/alloggiati/tables/bundled.ts'
import { codici } from '#src/alloggiati/routes/service-routes.ts'
import {
  parseApartments, parseTabelle, TabellaError, TIPI_TABELLA, type Csvs, type TipoTabella
} from '#src/alloggiati/tables/tabella.ts'
import { formatTabelle } from '#test/alloggiati/tables/format.ts'
import { tablesSource } from '#src/alloggiati/tables/tables-source.ts'
import { codeList, entryOf } from '#src/alloggiati/tables/search-codes.ts'
import { createTables } from '#src/alloggiati/tables/code-tables.ts'
import { searchKey } from '#src/lib/search-key.ts'
import { testDatabase } from '#test/database.ts'

const data = bundledData()
const tables = createTables(data)

t.test('the snapshot is complete: existing and ceased comuni, states, documents, guest types', async (t) => {
  t.equal(data.comuni.length, 11_294)
  t.equal(data.comuni.filter(({ cessato_il: end }) => end === null).length, 7898)
  t.equal(data.stati.length, 236)
  t.equal(data.documenti.length, 95)
  t.same(data.tipi_alloggiato.map(({ codice }) => codice), ['16', '17', '18', '19', '20'])
  t.ok(data.comuni.every(({ codice, provincia }) => /^4\d{8}$/.test(codice) && /^[A-Z]{2}$/.test(provincia)))
  t.ok(data.stati.every(({ codice }) => /^1\d{8}$/.test(codice)))
})

t.test('a code is found with all its columns', async (t) => {
  t.same(tables.comune('412058091'), { codice: '412058091', descrizione: 'ROMA', provincia: 'RM', cessato_il: null })
  t.same(tables.comune('408040012')?.cessato_il, '1992-04-15')
  t.match(tables.stato('100000216'), { descrizione: 'GERMANIA', iso2: 'DE', iso3: 'DEU' })
  t.match(tables.stato('100000210'), { descrizione: 'CECOSLOVACCHIA', iso2: null, cessato_il: '1993-01-01' })
  t.equal(tables.documento('IDELE')?.descrizione, "CARTA IDENTITA' ELETTRONICA")
  for (const unknown of ['', '999999999', '__proto__', 'constructor']) {
    t.equal(tables.comune(unknown), undefined)
    t.equal(tables.stato(unknown), undefined)
    t.equal(tables.provincia(unknown), undefined)
  }
})

t.test('a search for the car sign or ISO code of a state returns this state first', async (t) => {
  const states = { D: 'GERMANIA', A: 'AUSTRIA', F: 'FRANCIA', I: 'ITALIA', E: 'SPAGNA', UK: 'REGNO UNITO' }
  for (const [q, name] of Object.entries({ ...states, DE: 'GERMANIA', AUT: 'AUSTRIA', FR: 'FRANCIA', it: 'ITALIA' })) {
    t.equal(codici(tables, { q }).paesi[0]?.descrizione, name, q)
  }
  t.match(codici(tables, { q: 'RM' }), { comuni: [{ codice: '412058091' }], province: [{ codice: 'RM' }] })
})

t.test('six digits are looked up in the table, because today\'s ISTAT code can belong to a ceased row', async (t) => {
  t.same(tables.comuniByShortCode('058091').map(({ codice }) => codice), ['412058091'])
  t.match(
    tables.comuniByShortCode('040012'),
    [{ codice: '408040012', provincia: 'FO' }],
    "Forlì's row is 408140012 since 1992"
  )
  t.same(tables.comuniByShortCode('000000'), [])
  const twins = createTables({
    ...data,
    comuni: [
      { codice: '401999001', descrizione: 'PROVA', provincia: 'TO', cessato_il: null },
      { codice: '402999001', descrizione: 'PROVA', provincia: 'AO', cessato_il: null }
    ]
  })
  t.equal(twins.comuniByShortCode('999001').length, 2)
})

t.test('every province sign of the table has an Italian name, and former ones are marked', async (t) => {
  t.same(tables.search('province').map(({ codice }) => codice), [...bundledProvinces().keys()].sort())
  const past = tables.search('province').filter(({ cessata }) => cessata)
  t.same(past.map(({ codice }) => codice), ['FO', 'FU', 'PL', 'PS', 'ZA'])
  t.equal(tables.provincia('FC')?.descrizione, 'Forlì-Cesena')
})

t.test('names are looked up in an index, without a scan of the list, whether or not they are known', async (t) => {
  let reads = 0
  const list = codeList(data.comuni, (row) => (
    new Proxy(entryOf(row, false, [row.descrizione], [row.codice]), {
      get: (of, key) => {
        reads++
        return Reflect.get(of, key) as unknown
      }
    })))
  await list.prepare()
  reads = 0
  for (const [text, found] of [['Roma', 1], ['E', 0], ['Muenchhof', 0], ["L'Aquila", 1]] as const) {
    t.equal(list.named(text).length, found, text)
  }
  t.equal(reads, 0)
  t.same(['ROE', 'E', 'xyz'].map((text) => tables.named('comuni', text)), [[], [], []])
  t.match(tables.named('comuni', 'Voels am Schlern'), [{ codice: /^4/ }], 'umlauts are spelt with an E')
})

t.test('lists are indexed in slices, a search finishes the index, and no row is indexed twice', async (t) => {
  let indexed = 0
  const list = codeList(data.comuni, (row) => {
    indexed++
    return entryOf(row, row.cessato_il !== null, [row.descrizione], [row.codice])
  })
  const prepared = list.prepare()
  t.ok(indexed > 0 && indexed < 1000, 'the rest is for later turns')
  t.match(list.search('roma')[0], { descrizione: 'ROMA' })
  t.equal(indexed, data.comuni.length)
  await prepared
  t.equal(indexed, data.comuni.length)
})

t.test('a search of one or two letters finds what a scan of all names finds', async (t) => {
  for (const query of ['ro', 'sa', 'z', 'd']) {
    const start = query.toUpperCase()
    const found = new Set(tables.search('comuni', query))
    const named = data.comuni.filter(({ descrizione }) => (
      searchKey(descrizione).split(' ').some((word) => word.startsWith(start))))
    t.ok(named.length > 0 && named.every((row) => found.has(row)), query)
  }
})

t.test('a search sorts by prefix match, then existing places, then alphabetically', async (t) => {
  const names = (query: string, limit?: number) =>
    tables.search('comuni', query, limit).map(({ descrizione }) => descrizione)
  t.equal(names('roma')[0], 'ROMA')
  t.ok(names('terme').indexOf('TERME VIGLIATORE') < names('terme').indexOf('ABANO TERME'))
  const forli = tables.search('comuni', "FORLI'")
  t.equal(forli[0]?.codice, '408140012')
  t.equal(forli[1]?.codice, '408040012', 'the same name, no longer in force')
  t.ok(
    forli.findIndex(({ codice }) => codice === '414094020') < forli.findIndex(({ codice }) => codice === '414070920')
  )
  t.equal(names('a', 7).length, 7)
})

t.test('a search ignores case, accents, apostrophes and brackets', async (t) => {
  const first = (query: string) => tables.search('comuni', query)[0]?.descrizione
  t.equal(first('forlì'), "FORLI'")
  t.equal(first('San Donà di Piave'), "SAN DONA' DI PIAVE")
  t.equal(first('  sant’angelo lodigiano'), "SANT'ANGELO LODIGIANO")
  t.equal(first('Roma (RM)'), 'ROMA')
  t.equal(tables.search('paesi', 'germ')[0]?.codice, '100000216')
  t.equal(tables.search('comuni', '412058091')[0]?.descrizione, 'ROMA', 'a search also matches codes')
  t.same(tables.search('comuni', 'zzzz'), [])
})

t.test('a comune is described with its province, and a ceased place with its last day', async (t) => {
  const described = (list: Codice[], code: string) => list.find(({ codice }) => codice === code)?.descrizione
  const { comuni, paesi, province } = codici(tables)
  t.equal(described(comuni, '412058091'), 'ROMA (RM)')
  t.equal(described(comuni, '408040012'), "FORLI' (FO) (cessato il 15/04/1992)")
  t.equal(described(paesi, '100000210'), 'CECOSLOVACCHIA (cessato il 01/01/1993)')
  t.equal(described(paesi, '100000100'), 'ITALIA')
  t.equal(described(province, 'RM'), 'Roma')
  t.equal(described(province, 'FO'), 'Forlì (cessata)')
})

t.test('a state is found first by each of its ISO codes, and by the names that people use', async (t) => {
  const first = (q: string) => codici(tables, { q }).paesi[0]?.descrizione
  for (const query of ['DE', 'deu', '276']) t.equal(first(query), 'GERMANIA', query)
  for (const [query, name] of [
    ['RUSSIA', 'FEDERAZIONE RUSSA'],
    ['Olanda', 'PAESI BASSI'],
    ['USA', "STATI UNITI D'AMERICA"],
    ['840', "STATI UNITI D'AMERICA"],
    ['inghilterra', 'REGNO UNITO'],
    ['Corea del Sud', 'COREA DEL SUD'],
    ['Côte d’Ivoire', "COSTA D'AVORIO"],
    ['Macedonia', 'MACEDONIA DEL NORD'],
    ['España', 'SPAGNA'],
    ['ital', 'ITALIA'],
    ['olan', 'PAESI BASSI']
  ] as const) t.equal(first(query), name, query)
})

const csvs = formatTabelle(data)

t.test('parsing the CSVs of the service returns the tables they were written from', async (t) => {
  t.equal(createTables(parseTabelle(csvs)).version, tables.version)
  t.ok(csvs.Luoghi.includes("\n408040012;FORLI';FO;15/04/1992 00:00:00\n"))
})

t.test('CRLF, a byte order mark and surrounding blanks make no difference', async (t) => {
  const other = `\uFEFF${csvs.Luoghi.replaceAll('\n', '\r\n')}\r\n`
  t.same(parseTabelle({ ...csvs, Luoghi: other }), parseTabelle(csvs))
  t.same(parseTabelle({ ...csvs, Tipi_Documento: `${csvs.Tipi_Documento}  \n\n` }).documenti, data.documenti)
})

t.test('a state gets its ISO codes from the snapshot, and a state unknown there has none', async (t) => {
  const { stati } = parseTabelle({ ...csvs, Luoghi: `${csvs.Luoghi}\n100009999;STATO DI PROVA;ES;` })
  t.match(stati.find(({ codice }) => codice === '100000216'), { iso2: 'DE', iso3: 'DEU' })
  t.match(stati.find(({ codice }) => codice === '100009999'), { descrizione: 'STATO DI PROVA', iso2: null, iso3: null })
})

t.test('the list of apartments is read as in the manual, and is empty without apartments', async (t) => {
  const csv =
    'IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario\n0;CASA PROVA INT. 1;UDINE;UD;VIA PROVA N. 5;MARIO PROVA'
  t.same(parseApartments(csv), [
    {
      id: 0,
      descrizione: 'CASA PROVA INT. 1',
      comune: 'UDINE',
      provincia: 'UD',
      indirizzo: 'VIA PROVA N. 5',
      proprietario: 'MARIO PROVA'
    }
  ])
  t.same(parseApartments(''), [])
  t.same(parseApartments('IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario'), [])
  const [first] = parseApartments(`${csv}; CON ALTRO TESTO`)
  t.equal(first?.id, 0, 'a semicolon in a text of the host does not fail the refresh')
})

t.test('a file that is not the expected table is refused with the reason', async (t) => {
  const { Luoghi, Tipi_Documento: documenti, Tipi_Alloggiato: tipi } = csvs
  const withoutStates = Luoghi.split('\n').filter((line) => !line.includes(';ES;')).join('\n')
  const bad: [TipoTabella, string, RegExp][] = [
    ['Luoghi', '', /intestazione/],
    ['Luoghi', '<html><body>Servizio non disponibile</body></html>', /intestazione sconosciuta di 1 campo$/],
    ['Luoghi', documenti, /intestazione/],
    ['Luoghi', Luoghi.slice(Luoghi.indexOf('\n') + 1), /intestazione/],
    ['Luoghi', Luoghi.slice(0, 100_000), /solo \d+ righe/],
    ['Luoghi', withoutStates, /solo 0 stati/],
    ['Luoghi', Luoghi.replace('\n100000100;', '\n100009100;'), /manca l’Italia/],
    ['Luoghi', Luoghi.replace('412058091;ROMA;RM;', '412058091;ROMA;RM'), /3 campi/],
    ['Luoghi', Luoghi.replace('412058091;', '41205809;'), /riga \d+: codice non valido$/],
    ['Luoghi', Luoghi.replace('412058091;ROMA;', '412058091;;'), /descrizione vuota/],
    ['Luoghi', Luoghi.replace('412058091;', '403015146;'), /riga \d+: codice ripetuto$/],
    ['Luoghi', Luoghi.replace('ROMA;RM;', 'ROMA;ES;'), /riga \d+: la provincia non corrisponde al codice$/],
    ['Luoghi', Luoghi.replace('ROMA;RM;', 'ROMA;Roma;'), /la provincia non corrisponde al codice$/],
    ['Luoghi', Luoghi.replace('ITALIA;ES;', 'ITALIA;RM;'), /la provincia non corrisponde al codice$/],
    ['Luoghi', Luoghi.replace('15/04/1992', '31/04/1992'), /riga \d+: data di fine non valida$/],
    ['Luoghi', Luoghi.replace('15/04/1992', '1992-04-15'), /data di fine non valida$/],
    ['Tipi_Documento', documenti.slice(0, 500), /solo \d+ righe/],
    ['Tipi_Documento', documenti.replace('IDELE;', 'IDEL;'), /codice non valido$/],
    ['Tipi_Alloggiato', tipi.replace(/\n20;.*/, ''), /solo 4 righe/],
    ['ListaAppartamenti', 'IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario\nX;A;B;C;D;E', /riga 2: codice non valido$/]
  ]
  for (const [tipo, csv, reason] of bad) {
    t.throws(
      () => tipo === 'ListaAppartamenti' ? parseApartments(csv) : parseTabelle({ ...csvs, [tipo]: csv }),
      { name: 'TabellaError', tipo, message: reason },
      `${tipo}: ${reason.source}`
    )
  }
  t.ok(new TabellaError('Luoghi', 'prova').message.includes('Tabella Luoghi non accettata: prova'))
})

const newer = { ...csvs, Tipi_Documento: `${csvs.Tipi_Documento}\nPROVA;DOCUMENTO DI PROVA` }

const downloadFrom = (given: Required<Csvs>) => async (tipo: keyof Csvs) => given[tipo]

t.test('the bundled snapshot is used until a refresh stores the tables of the service', async (t) => {
  const { db } = await testDatabase(t)
  const source = tablesSource(db)
  t.equal((await source.get()).version, tables.version)
  const requested: string[] = []
  await source.refresh(async (tipo) => { requested.push(tipo); return newer[tipo] })
  t.same(requested, [...TIPI_TABELLA])
  t.equal((await source.get()).documento('PROVA')?.descrizione, 'DOCUMENTO DI PROVA')
  const other = await tablesSource(db).get()
  t.equal(other.documento('PROVA')?.descrizione, 'DOCUMENTO DI PROVA', 'another process also has the new tables')
  t.equal(other.version, (await source.get()).version)

  await source.refresh(downloadFrom(csvs))
  t.equal((await db.select().from(stored)).length, TIPI_TABELLA.length)
  t.equal((await tablesSource(db).get()).documento('PROVA'), undefined, 'a later refresh replaces all tables')
})

t.test('a refresh with one bad table keeps the stored tables', async (t) => {
  const { db } = await testDatabase(t)
  const source = tablesSource(db)
  await source.refresh(downloadFrom(newer))
  await t.rejects(source.refresh(downloadFrom({ ...csvs, Tipi_Alloggiato: '<html>' })), { name: 'TabellaError' })
  await t.rejects(source.refresh(async (tipo) => {
    if (tipo === 'Tipi_Alloggiato') throw new Error('servizio non raggiungibile')
    return csvs[tipo]
  }), { message: 'servizio non raggiungibile' })
  for (const each of [source, tablesSource(db)]) t.equal((await each.get()).documento('PROVA')?.codice, 'PROVA')
})

t.test('damaged or incomplete stored tables are ignored', async (t) => {
  const { db } = await testDatabase(t)
  const broken = newer.Luoghi.replace('412058091;ROMA;', '412058091;ALTRA;')
  await db.insert(stored).values({ nome: 'Luoghi', csv: broken, sha256: '' })
  t.equal((await tablesSource(db).get()).version, tables.version)
  await db
    .insert(stored)
    .values(TIPI_TABELLA.filter((nome) => nome !== 'Luoghi').map((nome) => ({ nome, csv: 'rotta', sha256: '' })))
  t.equal((await tablesSource(db).get()).version, tables.version)
})
