import fc from 'fast-check'
import t from 'tap'
import type { Codici } from '#schemas/codici.ts'
import type { ParseMrzResponse } from '#schemas/scanning.ts'
import { today } from '#test/alloggiati/rules/samples.ts'
import { build } from '#test/helper.ts'

const { call } = await build(t, { TODAY: today })

const search = async (q: string, limit?: number): Promise<Codici> => {
  const query = new URLSearchParams({ q, ...limit !== undefined && { limit: String(limit) } })
  return (await call('GET', `/api/alloggiati/codici?${query}`)).json()
}

/** Texts that people type. The search must find the given code first. */
const SPELLINGS: { [K in keyof Codici]?: Record<string, readonly string[]> } = {
  comuni: {
    408035033: ["Reggio nell'Emilia", 'reggio nell’emilia', 'REGGIO EMILIA', 'Reggio nell`Emilia (RE)', '035033'],
    418080063: ['Reggio di Calabria', 'Reggio Calabria (RC)', 'calabria reggio'],
    404021008: ['Bozen', 'bolzano', 'BOLZANO/BOZEN', 'Bolzano - Bozen', 'BOLZANO/BOZEN (BZ)', 'BZ'],
    404021051: ['Meran', 'Merano/Meran'],
    404021011: ['Brixen'],
    404021061: ['St. Ulrich', 'st-ulrich'],
    404021046: ['Mals', 'Malles Venosta/Mals'],
    402007003: ['Aoste', 'AO'],
    406032006: ['Trst'],
    415063049: ['NA', 'Neapel', 'Naples', 'napoli (na)', '063049', '415063049'],
    403015146: ['Mailand', 'Milan', 'MI'],
    413066049: ["L'Aquila", 'l aquila', 'LAQUILA', 'L´Aquila', 'Lʼaquila', 'AQ'],
    405027033: ['San Donà di Piave', "SAN DONA' DI PIAVE", 'san dona piave', 'San-Dona-di-Piave'],
    408140012: ["FORLI'", 'forlì', 'FORLI’', 'Forli'],
    403098050: ["Sant'Angelo Lodigiano", 'Santangelo Lodigiano', 'S. Angelo Lodigiano'],
    416071046: ['S. Giovanni Rotondo', 'S.GIOVANNI ROTONDO'],
    420092012: ['Carbonia (SU)', 'CARBONIA (CI)', '111009', '107003', '119003'],
    401002082: ["Motta de' Conti", 'Motta dei Conti'],
    419082064: ['San Giuseppe Jato']
  },
  paesi: {
    100000216: ['Germania', 'Deutschland', 'Germany', 'Allemagne', 'DE', 'DEU', '276', 'DDR', 'tedesca'],
    100000404: ["Costa d'Avorio", 'costa d’avorio', 'Costa d avorio', 'Côte d’Ivoire', 'Elfenbeinküste', 'CI'],
    100000219: ['Gran Bretagna', 'Vereinigtes Königreich', 'United Kingdom', 'Royaume-Uni', 'GB', 'UK'],
    100000203: ['Österreich', 'Oesterreich', 'Autriche'],
    100000536: ["Stati Uniti d'America", 'stati uniti', 'U.S.A.', 'Vereinigte Staaten', 'US'],
    100000241: ['Schweiz', 'Suisse', 'Switzerland', 'svizzero'],
    100000307: ['Birmania', 'Burma', 'Myanmar (Birmania)'],
    100000456: ['Swaziland', 'Eswatini']
  },
  tipi_documento: {
    IDENT: ["carta d'identità", 'carta d’identità', 'carta di identita', 'CARTA IDENTITA`', 'Personalausweis'],
    IDELE: ["carta d'identità elettronica", 'carta di identità elettronica', 'CIE'],
    PASOR: ['passaporto', 'passport', 'Reisepass', 'passeport', 'passaporto ordinario'],
    PATEN: ['patente', 'patente di guida', 'Führerschein', 'driving licence', "driver's license"],
    DESIS: ['SISDE', 'tess. s.i.s.d.e.']
  },
  province: {
    RE: ["Reggio nell'Emilia", 'RE'],
    BZ: ['Bozen', 'BZ'],
    FC: ['Forlì-Cesena', 'forli cesena', 'Cesena Forlì'],
    MB: ['Monza e della Brianza', 'Monza Brianza'],
    CA: ['Sud Sardegna', 'SU', 'Carbonia-Iglesias', 'CI'],
    SS: ['Olbia-Tempio', 'OT']
  }
}

for (const [list, codes] of Object.entries(SPELLINGS)) {
  t.test(`${list}: every spelling of a place, state or document finds its code first`, async (t) => {
    for (const [code, spellings] of Object.entries(codes)) {
      for (const q of spellings) t.equal((await search(q, 3))[list as keyof Codici][0]?.codice, code, q)
    }
  })
}

t.test('the name of a former state finds its present successors', async (t) => {
  for (const [q, ...wanted] of [
    ['URSS', '100000245', '100000243', '100000358'], ['Unione Sovietica', '100000245'], ['UdSSR', '100000245'],
    ['Jugoslavia', '100000250', '100001000', '100000251'], ['YUG', '100001001'], ['Zaire', '100000998'],
    ['Cecoslovacchia', '100000210', '100000257'], ['Czechoslovakia', '100000255'], ['Ceylon', '100000311']
  ] as const) {
    const found = (await search(q)).paesi.map(({ codice }) => codice)
    t.same(wanted.filter((code) => !found.includes(code)), [], q)
  }
})

t.test('a search has a maximum number of results, and one for punctuation alone finds none', async (t) => {
  for (const q of ['a', 'san', '4', 'e']) {
    for (const list of Object.values(await search(q))) t.ok(list.length <= 100, q)
  }
  t.same(await search('-/.'), { tipi_documento: [], paesi: [], comuni: [], province: [], tipi_alloggiato: [] })
})

t.test('each text that is shown for a code finds the code', async () => {
  const all: Codici = (await call('GET', '/api/alloggiati/codici')).json()
  const rows = Object.entries(all).flatMap(([list, codes]) => codes.map((row) => ({ list: list as keyof Codici, row })))
  const twist = fc.constantFrom<(text: string) => string>(
    (text) => text, (text) => text.toLowerCase(), (text) => text.replaceAll("'", '’'), (text) => ` ${text}  `,
  (text) => text.replaceAll(' ', '-'), (text) => text.replaceAll('-', ' ')
  )
  const shown = fc.record({ which: fc.constantFrom(...rows), twist, withCode: fc.boolean() })
  await fc.assert(fc.asyncProperty(shown, async ({ which: { list, row }, twist, withCode }) => {
    const q = twist(withCode ? `${row.codice} ${row.descrizione}` : row.descrizione).slice(0, 100)
    return (await search(q, 20))[list].some(({ codice }) => codice === row.codice)
  }), { numRuns: 200 })
})

t.test('for a card, the codes of a place of birth are proposed in the spellings that cards print', async (t) => {
  const lines = ['C<ITACA00000AA4<<<<<<<<<<<<<<<', '6412308F2212304ITA<<<<<<<<<<<0', 'ROSSI<<BIANCA<<<<<<<<<<<<<<<<<']
  for (const [place, comune, provincia] of [
    ['BOLZANO/BOZEN (BZ)', '404021008', 'BZ'], ["REGGIO NELL'EMILIA (RE)", '408035033', 'RE'],
    ['REGGIO DI CALABRIA (RC)', '418080063', 'RC'], ['CARBONIA (SU)', '420092012', 'CA'],
    ['OLBIA (OT)', '420090047', 'SS'], ['FORLÌ (FO)', '408040012', 'FO'], ['AOSTA/AOSTE (AO)', '402007003', 'AO'],
    ['SANT´ANGELO LODIGIANO (MI)', '403015748', 'MI'], ['Brixen (BZ)', '404021011', 'BZ'],
    ['BOSA (OR)', '420091013', 'NU'],
    ['DUINO AURISINA/DEVIN NABREŽINA (TS)', '406032001', 'TS']
  ]) {
    const text = `LUOGO E DATA DI NASCITA\n${place} 30.12.1964`
    const { ospite } = (await call('POST', '/api/mrz/parse', { lines, text })).json<ParseMrzResponse>()
    t.match(ospite, { comune_nascita: comune, provincia_nascita: provincia }, String(place))
  }
})
