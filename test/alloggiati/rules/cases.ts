import type { Schedina } from '#schemas/schedina.ts'
import { family, foreigner, member, single, soggiorno } from './samples.ts'

/** A list and its stay. */
export interface Example {
  ospiti: readonly Schedina[]
  stay?: Record<string, unknown>
  /** The guest with the remark, the first one by default. */
  ospite?: number
}

/** For each rule: examples that violate it, and similar ones that do not. */
export interface Cases {
  strikes: readonly Example[]
  silent: readonly Example[]
}

const one = (changes: Schedina): Example => ({ ospiti: [single(changes)] })
const abroad = (changes: Schedina): Example => ({ ospiti: [foreigner(changes)] })
const stay = (changes: Record<string, unknown>): Example => ({ ospiti: [single()], stay: { ...soggiorno, ...changes } })
const born = (day: string, changes: Schedina = {}): Example => one({ data_nascita: day, ...changes })

const upTo = (check_out: unknown): Example => ({ ospiti: [single()], stay: { check_in: '2026-11-21', check_out } })

/** A stay that began before yesterday. */
const early = { stay: { check_in: '2026-11-18', numero_notti: 5 } }

const long = (length: number) => 'A'.repeat(length)

export const CASES: Readonly<Record<string, Cases>> = {
  'arrivo-mancante': {
    strikes: [
      { ospiti: [single()], stay: { numero_notti: 3 } },
      stay({ check_in: null }),
      stay({ check_in: ' ' }),
      stay({ check_in: 20261121 })
    ],
    silent: [stay({}), stay({ check_in: 'domani' })]
  },
  'arrivo-non-valido': {
    strikes: [
      stay({ check_in: '21/11/2026' }),
      stay({ check_in: '2026-02-30' }),
      stay({ check_in: '2026-11-21T10:00:00Z' })
    ],
    silent: [stay({ check_in: ' 2026-11-21 ' }), stay({ check_in: null })]
  },
  'arrivo-fuori-termine': {
    strikes: [stay({ check_in: '2026-11-19' }), stay({ check_in: '2026-11-22' })],
    silent: [stay({ check_in: '2026-11-20' }), stay({ check_in: '2026-11-21' }), stay({ check_in: '2026-02-30' })]
  },
  'permanenza-mancante': {
    strikes: [
      { ospiti: [single()], stay: { check_in: '2026-11-21' } },
      { ospiti: [single()], stay: { check_in: '2026-11-21', numero_notti: null, check_out: ' ' } }
    ],
    silent: [stay({}), { ospiti: [single()], stay: { check_in: '2026-11-21', check_out: '2026-11-24' } }]
  },
  'permanenza-non-valida': {
    strikes: [
      stay({ numero_notti: 0 }),
      stay({ numero_notti: -1 }),
      stay({ numero_notti: 2.5 }),
      stay({ numero_notti: '3' }),
      stay({ numero_notti: NaN })
    ],
    silent: [stay({ numero_notti: 1 }), stay({ numero_notti: 45 }), upTo('2026-11-21')]
  },
  'partenza-non-valida': {
    strikes: [upTo('30/11/2026'), upTo('2026-02-30'), upTo('mai'), upTo(20261130)],
    silent: [upTo('2026-11-24'), upTo(' 2026-11-24 '), upTo(null), stay({ check_out: '30/11/2026' })]
  },
  'partenza-ignorata': {
    strikes: [stay({ check_out: '30/11/2026' }), stay({ check_out: 'mai' })],
    silent: [stay({ check_out: '2026-11-24' }), stay({ check_out: '' }), upTo('30/11/2026')]
  },
  'partenza-prima-dell-arrivo': {
    strikes: [upTo('2026-11-21'), upTo('2026-11-20')],
    silent: [upTo('2026-11-22'), upTo('mai'), stay({ check_out: '2026-11-20' })]
  },
  'permanenza-lunga': {
    strikes: [
      stay({ numero_notti: 31 }),
      { ospiti: [single()], stay: { check_in: '2026-11-21', check_out: '2027-01-15' } }
    ],
    silent: [stay({ numero_notti: 30 }), { ...stay({ numero_notti: 31 }), ...one({ partenza: '2026-12-01' }) }]
  },
  'arrivo-proprio-non-valido': {
    strikes: [one({ arrivo: 'domani' }), one({ arrivo: '21/11/2026' }), one({ arrivo: '2026-02-30' })],
    silent: [one({ arrivo: ' 2026-11-21 ' }), one({ arrivo: '' }), one({ arrivo: null })]
  },
  'arrivo-proprio-fuori-soggiorno': {
    strikes: [one({ arrivo: '2026-11-20' }), one({ arrivo: '2026-11-24' }), one({ arrivo: '1900-01-01' })],
    silent: [one({ arrivo: '2026-11-21' }), one({ arrivo: '2026-11-23' }), one({ arrivo: 'domani' })]
  },
  'arrivo-proprio-fuori-termine': {
    strikes: [one({ arrivo: '2026-11-22' }), one({ arrivo: '2026-11-19' })],
    silent: [one({}), one({ arrivo: '2026-11-21' }), { ...one({ arrivo: '2026-11-20' }), ...early }]
  },
  'arrivo-diverso': {
    strikes: [
      { ospiti: [single(), foreigner({ arrivo: '2026-11-22' })], ospite: 1 },
      { ospiti: [single({ arrivo: '2026-11-20' }), foreigner()], stay: early.stay, ospite: 1 }
    ],
    silent: [
      { ospiti: [single(), foreigner({ arrivo: '2026-11-21' })] },
      { ospiti: [single({ arrivo: '2026-11-20' }), foreigner({ arrivo: '2026-11-20' })], stay: early.stay },
      { ospiti: [single(), foreigner({ arrivo: 'domani' })] },
      one({ arrivo: '2026-11-22' })
    ]
  },
  'partenza-propria-non-valida': {
    strikes: [one({ partenza: 'mai' }), one({ partenza: '24/11/2026' })],
    silent: [one({ partenza: '2026-11-22' }), one({ partenza: ' ' }), one({ partenza: null })]
  },
  'partenza-propria-fuori-soggiorno': {
    strikes: [
      one({ partenza: '2026-11-21' }),
      one({ partenza: '2026-11-25' }),
      one({ arrivo: '2026-11-22', partenza: '2026-11-22' })
    ],
    silent: [
      one({ partenza: '2026-11-24' }),
      one({ arrivo: '2026-11-22', partenza: '2026-11-23' }),
      one({ partenza: 'mai' })
    ]
  },
  'permanenza-discordante': {
    strikes: [
      stay({ check_out: '2026-11-25' }),
      stay({ check_out: '2026-11-21' }),
      stay({ check_out: '2026-11-20' }),
      stay({ check_out: '2027-01-15' })
    ],
    silent: [
      stay({ check_out: '2026-11-24' }),
      stay({ check_out: 'mai' }),
      stay({ check_out: null }),
      stay({ check_out: '2026-11-25', numero_notti: null }),
      stay({ check_out: '2026-11-25', numero_notti: 0 }),
      stay({ check_out: '2026-11-25', check_in: 'oggi' })
    ]
  },
  'appartamento-mancante': {
    strikes: [
      { ...stay({ id_appartamento: 1_000_000 }) },
      { ...stay({ id_appartamento: '1' }) }
    ],
    silent: [{ ospiti: [single()] }, { ...stay({ id_appartamento: 0 }) }]
  },

  'tipo-mancante': {
    strikes: [one({ tipo_alloggiato: null }), one({ tipo_alloggiato: '' }), { ospiti: [{}] }],
    silent: [one({ tipo_alloggiato: ' 16 ' }), one({ tipo_alloggiato: 'X' })]
  },
  'tipo-sconosciuto': {
    strikes: [
      one({ tipo_alloggiato: '15' }),
      one({ tipo_alloggiato: '21' }),
      one({ tipo_alloggiato: 'OSPITE SINGOLO' })
    ],
    silent: [one({}), one({ tipo_alloggiato: '' })]
  },
  'familiare-senza-capo': {
    strikes: [
      { ospiti: [member('19', 'ANNA')] },
      { ospiti: [single(), member('19', 'ANNA')], ospite: 1 },
      { ospiti: [...family(), foreigner(), member('19', 'LUCA')], ospite: 3 },
      { ospiti: [single({ tipo_alloggiato: '18' }), member('20', 'ANNA'), member('19', 'LUCA')], ospite: 2 }
    ],
    silent: [{ ospiti: [...family(), member('19', 'LUCA')] }]
  },
  'membro-senza-capo': {
    strikes: [{ ospiti: [member('20', 'ANNA')] }, { ospiti: [...family(), member('20', 'LUCA')], ospite: 2 }],
    silent: [{ ospiti: [single({ tipo_alloggiato: '18' }), member('20', 'ANNA'), member('20', 'LUCA')] }]
  },
  'capo-senza-membri': {
    strikes: [
      one({ tipo_alloggiato: '17' }),
      one({ tipo_alloggiato: '18' }),
      { ospiti: [single({ tipo_alloggiato: '17' }), member('20', 'ANNA')] }
    ],
    silent: [{ ospiti: family() }, { ospiti: [foreigner(), ...family(), single({ nome: 'SOLO' })] }]
  },
  'ospite-ripetuto': {
    strikes: [
      { ospiti: [single(), foreigner(), single()], ospite: 2 },
      { ospiti: [single({ cognome: 'Di Prova' }), single({ cognome: 'DI-PROVA' })], ospite: 1 }
    ],
    silent: [
      { ospiti: [single(), single({ nome: 'MATTEO' }), single({ data_nascita: '1950-01-01' })] },
      { ospiti: [single({ data_nascita: '' }), single({ data_nascita: '' })] }
    ]
  },

  'cognome-mancante': {
    strikes: [one({ cognome: null }), one({ cognome: ' ' }), one({ cognome: '...' }), one({ cognome: "'" })],
    silent: [one({ cognome: 'O' }), one({ cognome: '李' })]
  },
  'cognome-caratteri': {
    strikes: [one({ cognome: 'PROVA 2' }), one({ cognome: 'Иванов' }), one({ cognome: 'ΡROVETTI' })],
    silent: [one({ cognome: "D'Été-Øst" })]
  },
  'cognome-lungo': {
    strikes: [one({ cognome: long(51) }), one({ cognome: 'ß'.repeat(26) })],
    silent: [one({ cognome: long(50) })]
  },
  'cognome-codifica': {
    strikes: [one({ cognome: 'GarcÃ\u00ada' }), one({ cognome: 'NicolÃ\u00a0' }), one({ cognome: 'Å\u00a0imun' })],
    silent: [one({ cognome: 'García' }), one({ cognome: 'MÃ¼ller' }), one({ cognome: 'Conceição' })]
  },
  'nome-codifica': { strikes: [one({ nome: 'MarÃ\u00ada' })], silent: [one({ nome: 'José' }), one({ nome: 'JOÃO' })] },
  'cognome-adattato': {
    strikes: [one({ cognome: 'Müller' }), one({ cognome: 'ROSSI-PROVA' })],
    silent: [one({ cognome: " D'Angelo provetti " }), one({ cognome: 'Müller 2' })]
  },
  'nome-mancante': { strikes: [one({ nome: undefined }), one({ nome: '' })], silent: [one({ nome: 'A' })] },
  'nome-caratteri': { strikes: [one({ nome: 'MARCO_' }), one({ nome: 'Ольга' })], silent: [one({ nome: 'Zoë' })] },
  'nome-lungo': { strikes: [one({ nome: long(31) })], silent: [one({ nome: long(30) })] },
  'nome-adattato': { strikes: [one({ nome: 'Zoë' })], silent: [one({ nome: 'zoe' })] },
  'sesso-mancante': {
    strikes: [one({ sesso: '' }), one({ sesso: null })],
    silent: [one({ sesso: 'F' }), one({ sesso: 'X' })]
  },
  'sesso-non-valido': {
    strikes: [one({ sesso: 'X' }), one({ sesso: '1' })],
    silent: [one({ sesso: 'f' }), one({ sesso: '' })]
  },
  'nascita-mancante': { strikes: [born(''), one({ data_nascita: null })], silent: [born('1980-05-15'), born('ieri')] },
  'nascita-non-valida': {
    strikes: [born('15/05/1980'), born('1981-02-29'), born('1980-5-5')],
    silent: [born('1980-02-29'), born('')]
  },
  'nascita-futura': { strikes: [born('2026-11-22')], silent: [born('2026-11-21')] },
  'nascita-dopo-arrivo': {
    strikes: [{ ...born('2026-11-21'), stay: { check_in: '2026-11-20', numero_notti: 1 } }],
    silent: [born('2026-11-21'), { ...born('2026-11-22'), stay: { check_in: '2026-11-20', numero_notti: 1 } }]
  },
  'nascita-impossibile': {
    strikes: [
      born('1896-11-20'),
      born('1800-01-01'),
      { ...born('1896-11-19'), stay: { check_in: '2026-11-20', numero_notti: 1 } },
      { ...born('1896-11-20'), stay: {} }
    ],
    silent: [
      born('1896-11-21'),
      { ...born('1896-11-20'), stay: { check_in: '2026-11-20', numero_notti: 1 } },
      born('9999-12-31'),
      born('')
    ]
  },
  'eta-insolita': {
    strikes: [born('1925-11-21'), born('1896-11-21')],
    silent: [born('1925-11-22'), born('1896-11-20')]
  },
  'responsabile-minorenne': {
    strikes: [
      born('2008-11-22'),
      { ...born('2008-11-21'), stay: { check_in: '2026-11-20', numero_notti: 1 } },
      { ospiti: family({ data_nascita: '2010-01-01' }) }
    ],
    silent: [born('2008-11-21'), { ospiti: family() }]
  },

  'stato-nascita-mancante': {
    strikes: [one({ stato_nascita: '', comune_nascita: '' }), one({ stato_nascita: null, comune_nascita: '999999' })],
    silent: [
      one({ stato_nascita: '' }),
      one({ stato_nascita: '', comune_nascita: '058091' }),
      abroad({ stato_nascita: '', comune_nascita: '100000216' })
    ]
  },
  'stato-nascita-sconosciuto': {
    strikes: [abroad({ stato_nascita: '100000276' }), one({ stato_nascita: 'ITA' })],
    silent: [abroad({})]
  },
  'stato-nascita-apolide': {
    strikes: [abroad({ stato_nascita: '100000999' }), abroad({ stato_nascita: '', comune_nascita: '100000999' })],
    silent: [abroad({ cittadinanza: '100000999' })]
  },
  'stato-nascita-ricavato': {
    strikes: [one({ stato_nascita: '' }), one({ stato_nascita: null, comune_nascita: '058091' })],
    silent: [
      one({}),
      one({ stato_nascita: '', comune_nascita: '999999' }),
      abroad({ stato_nascita: '', comune_nascita: '100000216' })
    ]
  },
  'stato-nascita-cessato': {
    strikes: [abroad({ stato_nascita: '100000210', data_nascita: '1993-01-02' })],
    silent: [
      abroad({ stato_nascita: '100000210', data_nascita: '1993-01-01' }),
      abroad({ stato_nascita: '100000210', data_nascita: '' })
    ]
  },
  'comune-mancante': {
    strikes: [one({ comune_nascita: '' }), one({ comune_nascita: '100000100' })],
    silent: [one({}), one({ comune_nascita: '100000216' }), abroad({})]
  },
  'comune-sconosciuto': {
    strikes: [
      one({ comune_nascita: '412058999' }),
      one({ comune_nascita: '999999' }),
      one({ comune_nascita: 'ROMA' }),
      one({ comune_nascita: '100000216' })
    ],
    silent: [one({}), one({ comune_nascita: '058091' }), one({ comune_nascita: '' })]
  },
  'comune-ambiguo': {
    strikes: [born('1970-01-01', { comune_nascita: '999001', provincia_nascita: '' })],
    silent: [
      born('1970-01-01', { comune_nascita: '999001', provincia_nascita: 'AO' }),
      born('1990-01-01', { comune_nascita: '999001', provincia_nascita: '' }),
      born('1970-01-01', { comune_nascita: '401999001', provincia_nascita: '' })
    ]
  },
  'comune-cessato': {
    strikes: [
      born('1992-04-16', { comune_nascita: '408040012', provincia_nascita: 'FO' }),
      born('1992-04-16', { comune_nascita: '040012', provincia_nascita: 'FO' })
    ],
    silent: [
      born('1992-04-15', { comune_nascita: '408040012', provincia_nascita: 'FO' }),
      born('1960-01-01', { comune_nascita: '408140012', provincia_nascita: 'FC' })
    ]
  },
  'comune-estero': {
    strikes: [
      abroad({ comune_nascita: '412058091' }),
      abroad({ comune_nascita: '100000215' }),
      abroad({ comune_nascita: 'BERLIN' })
    ],
    silent: [abroad({}), abroad({ comune_nascita: '100000216' }), one({ cittadinanza: '100000216' })]
  },
  'provincia-mancante': {
    strikes: [
      one({ provincia_nascita: '', comune_nascita: '' }),
      one({ provincia_nascita: null, comune_nascita: '999999' }),
      one({ provincia_nascita: '', comune_nascita: '999002' })
    ],
    silent: [one({}), abroad({}), one({ provincia_nascita: '' })]
  },
  'provincia-ricavata': {
    strikes: [
      one({ provincia_nascita: '' }),
      one({ provincia_nascita: null, stato_nascita: '', comune_nascita: '058091' })
    ],
    silent: [one({}), abroad({}), one({ provincia_nascita: '', comune_nascita: '' })]
  },
  'provincia-sconosciuta': {
    strikes: [one({ provincia_nascita: 'ROMA' }), one({ provincia_nascita: 'SU' })],
    silent: [one({ provincia_nascita: 'rm' })]
  },
  'provincia-discordante': {
    strikes: [
      one({ provincia_nascita: 'MI' }), born('1993-01-01', { comune_nascita: '408140012', provincia_nascita: 'FO' })
    ],
    silent: [one({}), one({ provincia_nascita: 'XX' }), one({ provincia_nascita: 'MI', comune_nascita: '' })]
  },
  'provincia-di-allora': {
    strikes: [one({ comune_nascita: '408140012', provincia_nascita: 'FO' })],
    silent: [one({}), one({ comune_nascita: '420092012', provincia_nascita: 'SU' })]
  },
  'provincia-estero': {
    strikes: [
      abroad({ provincia_nascita: 'RM' }),
      abroad({ provincia_nascita: 'ES' }),
      abroad({ provincia_nascita: 'RM', cittadinanza: '100000100' })
    ],
    silent: [abroad({}), one({ cittadinanza: '100000216' }), abroad({ provincia_nascita: 'RM', stato_nascita: '' })]
  },
  'cittadinanza-mancante': { strikes: [one({ cittadinanza: '' })], silent: [one({ cittadinanza: 'X' })] },
  'cittadinanza-sconosciuta': {
    strikes: [one({ cittadinanza: 'DE' }), one({ cittadinanza: '100000826' })],
    silent: [abroad({}), one({ cittadinanza: '' })]
  },
  'cittadinanza-cessata': {
    strikes: [one({ cittadinanza: '100000210' })],
    silent: [one({ cittadinanza: '100000999' })]
  },

  'tipo-documento-mancante': { strikes: [one({ tipo_documento: '' })], silent: [one({}), { ospiti: family() }] },
  'tipo-documento-sconosciuto': {
    strikes: [one({ tipo_documento: 'ALTRO' })],
    silent: [one({ tipo_documento: 'idele' }), one({ tipo_documento: '' })]
  },
  'numero-documento-mancante': {
    strikes: [one({ numero_documento: '' }), one({ numero_documento: null })],
    silent: [one({}), { ospiti: family() }]
  },
  'numero-documento-caratteri': {
    strikes: [one({ numero_documento: 'CA00000AÀ' }), one({ numero_documento: 'СA00000AA' })],
    silent: [one({ numero_documento: 'ca 00000 aa' })]
  },
  'numero-documento-senza-segni': {
    strikes: [one({ numero_documento: '-' }), one({ numero_documento: '. / -' })],
    silent: [one({ numero_documento: '-1-' }), one({ numero_documento: '' }), one({ numero_documento: '?' })]
  },
  'numero-documento-lungo': {
    strikes: [one({ numero_documento: '1'.repeat(21) })],
    silent: [one({ numero_documento: '1'.repeat(20) }), one({ numero_documento: `${'1'.repeat(20)} ` })]
  },
  'numero-documento-insolito': {
    strikes: [
      one({ numero_documento: 'AX0000000' }),
      one({ tipo_documento: 'PASOR', numero_documento: '123' }),
      one({ tipo_documento: 'PATEN', numero_documento: 'CA00000AA' }),
      one({ tipo_documento: 'IDENT', numero_documento: 'CA00000AA' }),
      abroad({ numero_documento: 'ABDEFGHIL' }),
      abroad({ tipo_documento: 'IDENT', numero_documento: '12' })
    ],
    silent: [
      one({ numero_documento: 'ca 00000 aa' }),
      one({ tipo_documento: 'PASOR', numero_documento: 'YA0000000' }),
      one({ tipo_documento: 'PATEN', numero_documento: 'U1X00X000X' }),
      one({ tipo_documento: 'IDENT', numero_documento: 'AX0000000' }),
      abroad({ tipo_documento: 'IDENT', numero_documento: 'L01X00T47' }),
      one({ numero_documento: '' }),
      one({ numero_documento: '-' })
    ]
  },
  'numero-documento-segnaposto': {
    strikes: ['0000000', 'n.d.', 'N/A', 'XXXXXXX', '1234567', '987654321', 'abcdefg', 'non disponibile', 'TEST', '-1-']
      .map((numero_documento) => abroad({ numero_documento })),
    silent: ['C01X00T47', 'AA0000001', '', '-', '???', '0'.repeat(21)].map((numero_documento) =>
      abroad({ numero_documento }))
  },
  'numero-documento-ripetuto': {
    strikes: [
      { ospiti: [single(), foreigner({ numero_documento: 'ca 00000.aa' })], ospite: 1 },
      { ospiti: [...family(), foreigner({ numero_documento: 'CA00000AA' })], ospite: family().length }
    ],
    silent: [
      { ospiti: [single(), single()] },
      { ospiti: [single(), foreigner()] },
      { ospiti: [foreigner({ numero_documento: '0000000' }), single({ numero_documento: '0000000' })] }
    ]
  },
  'rilascio-mancante': { strikes: [one({ luogo_rilascio: '' })], silent: [one({}), { ospiti: family() }] },
  'rilascio-sconosciuto': {
    strikes: [one({ luogo_rilascio: 'ROMA' }), one({ luogo_rilascio: '412058999' })],
    silent: [one({ luogo_rilascio: '058091' }), abroad({})]
  },
  'rilascio-ufficio-centrale': {
    strikes: [one({ luogo_rilascio: 'MIT-UCO' }), one({ luogo_rilascio: 'mit uco' })],
    silent: [one({}), one({ luogo_rilascio: 'MC-NA' })]
  },
  'rilascio-ambiguo': {
    strikes: [one({ luogo_rilascio: '999002' })],
    silent: [one({ luogo_rilascio: '999001' }), one({ luogo_rilascio: '402999002' })]
  },
  'rilascio-cessato': {
    strikes: [one({ luogo_rilascio: '408040012' }), abroad({ luogo_rilascio: '100000210' })],
    silent: [one({ luogo_rilascio: '408140012' }), abroad({})]
  },
  'rilascio-apolide': {
    strikes: [abroad({ luogo_rilascio: '100000999' }), one({ luogo_rilascio: '100000999' })],
    silent: [abroad({ cittadinanza: '100000999' }), { ospiti: family() }]
  },
  'rilascio-italia': { strikes: [one({ luogo_rilascio: '100000100' })], silent: [one({}), abroad({})] },
  'documento-superfluo': {
    strikes: [
      { ospiti: [single({ tipo_alloggiato: '17' }), member('19', 'ANNA', { tipo_documento: 'PASOR' })], ospite: 1 },
      { ospiti: [single({ tipo_alloggiato: '18' }), member('20', 'ANNA', { numero_documento: '?' })], ospite: 1 },
      { ospiti: [single({ tipo_alloggiato: '18' }), member('20', 'ANNA', { luogo_rilascio: 'X' })], ospite: 1 }
    ],
    silent: [one({}), { ospiti: family() }]
  }
}
