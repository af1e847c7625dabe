import fc from 'fast-check'
import t from 'tap'
import { SCHEDINA_FIELDS } from '#schemas/schedina.ts'
import { decode, encode } from '#src/alloggiati/codec/codec.ts'
import { LAYOUT_FILE_UNICO } from '#src/alloggiati/codec/layout.ts'
import { apiName, OWN_DAY_FIELDS, STAY_FIELDS } from '#src/alloggiati/rules/rule.ts'
import { groupsOf } from '#src/alloggiati/rules/guest-groups.ts'
import type { Rule } from '#src/alloggiati/rules/rule.ts'
import { RULES } from '#src/alloggiati/rules/validate.ts'
import { anyCharacter } from '#test/any-character.ts'
import { CASES, type Example } from './cases.ts'
import { family, foreigner, check, member, single, soggiorno, tables } from './samples.ts'

t.test('every rule has its own id, a field of the API, a text and a source', async (t) => {
  t.equal(new Set(RULES.map(({ id }) => id)).size, RULES.length)
  const known: readonly string[] = [...SCHEDINA_FIELDS, ...STAY_FIELDS, ...OWN_DAY_FIELDS]
  for (const { id, field, message, source } of RULES) {
    t.ok(known.includes(field), `${id}: ${field}`)
    t.ok(message.length > 10 && source.length > 5, id)
  }
})

t.test('a rule only warns when a host may keep the value, and every other rule blocks', async (t) => {
  t.same(RULES.filter(({ severity }) => severity === 'warning').map(({ id }) => id), [
    'partenza-ignorata', 'permanenza-discordante', 'permanenza-lunga', 'cognome-codifica', 'cognome-adattato',
    'nome-codifica', 'nome-adattato', 'eta-insolita', 'responsabile-minorenne', 'stato-nascita-ricavato',
    'provincia-ricavata', 'provincia-di-allora', 'numero-documento-insolito', 'numero-documento-segnaposto',
    'numero-documento-ripetuto', 'documento-superfluo'
  ])
})

t.test('every case belongs to an existing rule', async (t) => {
  t.same(Object.keys(CASES).filter((id) => !RULES.some((rule) => rule.id === id)), [])
})

for (const rule of RULES) {
  t.test(`${rule.id}: reports its violations, and no other value`, async (t) => {
    const { strikes = [], silent = [] } = CASES[rule.id] ?? {}
    t.ok(strikes.length > 0 && silent.length > 0, 'the rule has cases for both outcomes')
    strikes.forEach((example, index) => t.same(struck(rule, example), [example.ospite ?? 0], `strikes ${index}`))
    silent.forEach((example, index) => t.same(struck(rule, example), [], `silent ${index}`))
  })
}

/** The guests whom the rule reports. Its text distinguishes it from other rules. */
function struck (rule: Rule, { ospiti, stay }: Example): number[] {
  const response = check(ospiti, stay)
  const parts = rule.message.split(/\{\w+\}/)
  const found = (rule.severity === 'warning' ? response.warnings : response.errors).filter(({ campo, messaggio }) => (
    campo === rule.field && parts.every((part) => messaggio.includes(part)) && messaggio.startsWith(parts[0] ?? '')))
  if (found.some(({ messaggio }) => /[{}]|undefined/.test(messaggio))) {
    throw new Error(`Unfilled text: ${found[0]?.messaggio}`)
  }
  if (rule.severity !== 'warning' && found.length > 0 && (response.valid || response.records)) {
    throw new Error('An error left the list valid')
  }
  return found.map(({ ospite }) => ospite)
}

const types = fc.array(fc.constantFrom('16', '17', '18', '19', '20', '99', ''), { maxLength: 30 })

t.test('a leader and the members directly after form one group', async (t) => {
  t.same(groupsOf(['16', '17', '19', '19', '18', '20', '16']), [[0], [1, 2, 3], [4, 5], [6]])
  t.same(groupsOf(['17', '17', '19']), [[0], [1, 2]])
  t.same(groupsOf([]), [])
})

t.test('a member that does not follow its leader is a separate group, with the members after it', async (t) => {
  t.same(groupsOf(['19', '19']), [[0], [1]])
  t.same(groupsOf(['17', '20', '19']), [[0], [1], [2]])
  t.same(groupsOf(['17', '19', '16', '19']), [[0, 1], [2], [3]])
})

t.test('groups contain every guest once, in order, with any types', async () => {
  fc.assert(fc.property(types, (list) => {
    const flat = groupsOf(list).flat()
    return flat.length === list.length && flat.every((value, index) => value === index)
  }))
})

t.test('a valid list gives one record per guest, in order, and no remarks', async (t) => {
  const { valid, errors, warnings, records } = check([...family(), foreigner()])
  t.same({ valid, errors, warnings }, { valid: true, errors: [], warnings: [] })
  t.same(records, [
    {
      tipo_alloggiato: '17',
      data_arrivo: '2026-11-21',
      permanenza: 3,
      cognome: 'PROVETTI',
      nome: 'MARCO',
      sesso: 'M',
      data_nascita: '1980-05-15',
      comune_nascita: '412058091',
      provincia: 'RM',
      stato_nascita: '100000100',
      cittadinanza: '100000100',
      tipo_doc: 'IDELE',
      num_doc: 'CA00000AA',
      luogo_rilascio: '412058091'
    },
    {
      tipo_alloggiato: '19',
      data_arrivo: '2026-11-21',
      permanenza: 3,
      cognome: 'PROVETTI',
      nome: 'ANNA',
      sesso: 'M',
      data_nascita: '2012-03-04',
      comune_nascita: '412058091',
      provincia: 'RM',
      stato_nascita: '100000100',
      cittadinanza: '100000100',
      tipo_doc: '',
      num_doc: '',
      luogo_rilascio: ''
    },
    {
      tipo_alloggiato: '16',
      data_arrivo: '2026-11-21',
      permanenza: 3,
      cognome: 'MUSTERMANN',
      nome: 'ERIKA',
      sesso: 'F',
      data_nascita: '1980-05-15',
      comune_nascita: '',
      provincia: '',
      stato_nascita: '100000216',
      cittadinanza: '100000216',
      tipo_doc: 'PASOR',
      num_doc: 'C01X00T47',
      luogo_rilascio: '100000216'
    }
  ])
})

t.test('an error names guest, field and reason, and then no record is returned', async (t) => {
  t.same(check([single(), foreigner({ provincia_nascita: 'RM' })]), {
    valid: false,
    errors: [
      {
        ospite: 1,
        campo: 'provincia_nascita',
        messaggio:
          'La provincia di nascita va indicata solo per chi è nato in Italia: ' +
          'per chi è nato in GERMANIA deve essere vuota'
      }
    ],
    warnings: [],
    accepted: null,
    records: null
  })
})

t.test('a list with only a warning is valid', async (t) => {
  const { valid, warnings, records } = check([single({ cognome: 'Prövetti', numero_documento: 'XX' })])
  t.ok(valid)
  t.same(warnings.map(({ campo }) => campo), ['cognome', 'numero_documento'])
  t.match(records, [{ cognome: 'PROVETTI', num_doc: 'XX' }])
})

t.test('without a number of nights, they are counted from the two dates', async (t) => {
  t.match(check([single()], { check_in: '2026-11-20', check_out: '2026-11-27' }).records, [{ permanenza: 7 }])
})

t.test('a stay of more than 30 nights is sent as 30, and a warning names the day of the next schedina', async (t) => {
  const { valid, warnings, records } = check([single()], { check_in: '2026-11-21', numero_notti: 45 })
  t.ok(valid)
  t.match(warnings, [{ ospite: 0, campo: 'numero_notti', messaggio: /30; dal 21\/12\/2026 serve una nuova schedina/ }])
  t.match(records, [{ permanenza: 30 }])
})

t.test('errors about the stay appear once, on the first guest', async (t) => {
  const { errors } = check([single(), foreigner()], { check_in: '2026-11-01', numero_notti: 0 })
  t.same(errors.map(({ ospite, campo }) => [ospite, campo]), [[0, 'check_in'], [0, 'numero_notti']])
})

t.test(
  'for a birth abroad the comune may repeat the state, fills an empty state, and is blank in the record',
  async (t) => {
    const abroad = { comune_nascita: '', provincia: '', stato_nascita: '100000216' }
    t.match(check([foreigner({ comune_nascita: '100000216' })]).records, [abroad])
    t.match(check([foreigner({ comune_nascita: '100000216', stato_nascita: '' })]).records, [abroad])
    t.match(check([foreigner({ comune_nascita: '100000216', stato_nascita: null })]).records, [abroad])
  }
)

t.test('a comune of the table fills an empty birth state and province, with a warning', async (t) => {
  for (const comune of ['412058091', '058091']) {
    const { records, warnings } = check([single({ comune_nascita: comune, stato_nascita: '', provincia_nascita: '' })])
    t.match(records, [{ comune_nascita: '412058091', provincia: 'RM', stato_nascita: '100000100' }])
    t.match(warnings, [
      { campo: 'stato_nascita', messaggio: /«ITALIA», ricavato dal comune di nascita ROMA$/ },
      { campo: 'provincia_nascita', messaggio: /«RM», ricavata dal comune di nascita ROMA$/ }
    ])
  }
})

t.test('when nights and departure disagree, the nights are used, with a warning', async (t) => {
  const { records, warnings } = check([single()], { ...soggiorno, check_out: '2026-11-26' })
  t.match(records, [{ permanenza: 3 }])
  t.match(warnings, [{ campo: 'numero_notti', messaggio: /\(3\) e check_out \(26\/11\/2026: 5\)/ }])
})

t.test('a guest with only one name gets advice on how to enter it, and one without any name does not', async (t) => {
  for (const changes of [{ nome: '' }, { cognome: '' }]) {
    t.match(check([single(changes)]).errors, [{ messaggio: /un nome solo.*indicare «(MARCO|PROVETTI)» anche qui/ }])
  }
  t.same(
    check([single({ nome: '', cognome: '' })]).errors.map(({ messaggio }) => messaggio),
    ['Il cognome è obbligatorio', 'Il nome è obbligatorio']
  )
})

t.test('the error about a letter of another alphabet names it, and the Latin letter that looks like it', async (t) => {
  const said = (changes: object) => check([single(changes)]).errors[0]?.messaggio
  t.match(said({ cognome: 'ΡROVETTI' }), /non ammessi: Ρ \(greco\) che sembra P\./)
  t.match(said({ nome: 'MАRCO 2' }), /non ammessi: 2, А \(cirillico\) che sembra A\./)
  t.match(said({ nome: 'Ｍarco' }), /non ammessi: Ｍ \(a larghezza intera\) che sembra M\./)
  t.match(said({ numero_documento: 'СA00000АA' }), /: С \(cirillico\) che sembra C, А \(cirillico\) che sembra A$/)
  t.match(said({ cognome: 'Жук_' }), /non ammessi: Ж к _, у \(cirillico\) che sembra y\./)
})

t.test('short codes become the codes of the table, and birth date or province decide between two', async (t) => {
  const codes = (changes: object) =>
    check([single({ numero_documento: 'CA00000AA', ...changes })]).records?.map(({ comune_nascita: code }) => code)
  t.same(codes({ comune_nascita: '999001', provincia_nascita: 'TO', data_nascita: '1990-01-01' }), ['401999001'])
  t.same(codes({ comune_nascita: '999001', provincia_nascita: 'AO', data_nascita: '1970-01-01' }), ['402999001'])
  t.match(check([single({ luogo_rilascio: '058091' })]).records, [{ luogo_rilascio: '412058091' }])
  t.match(
    check([single({ comune_nascita: '999002', provincia_nascita: '' })]).errors.find(
      ({ campo }) => campo === 'comune_nascita'
    )?.messaggio,
    /401999002 PROVA DI SOPRA \(TO\), 402999002 PROVA DI SOTTO \(AO\)/
  )
})

t.test('the documents of members are left out, even when they could not be encoded', async (t) => {
  const { valid, warnings, records } = check([
    single({ tipo_alloggiato: '18' }),
    member('20', 'ANNA', { tipo_documento: 'NIENTE', numero_documento: '@', luogo_rilascio: 'X' })
  ])
  t.ok(valid)
  t.same(warnings.map(({ ospite, campo }) => [ospite, campo]), [[1, 'tipo_documento']])
  t.match(records?.[1], { tipo_doc: '', num_doc: '', luogo_rilascio: '' })
})

t.test('blanks around texts are ignored, and codes are accepted in upper and lower case', async (t) => {
  t.match(
    check([
      single({
        tipo_alloggiato: ' 16',
        sesso: 'm',
        provincia_nascita: 'rm',
        tipo_documento: 'idele',
        numero_documento: 'ca 00000 aa'
      })
    ]),
    {
      valid: true,
      warnings: [],
      records: [{ tipo_alloggiato: '16', sesso: 'M', provincia: 'RM', tipo_doc: 'IDELE', num_doc: 'CA00000AA' }]
    }
  )
})

t.test('records for the File Unico have the apartment, and others never do', async (t) => {
  const stay = { ...soggiorno, id_appartamento: 4 }
  const unico = check([single()], stay).records
  t.equal(unico?.[0]?.id_appartamento, 4)
  t.equal(unico?.map(encode)[0]?.length, 174)
  t.equal(check([single()]).records?.map(encode)[0]?.length, 168)
})

t.test('a valid list has lines and leaders together with the records, guest by guest', async (t) => {
  const { accepted } = check([...family(), foreigner(), ...family({ nome: 'LUCIO', tipo_alloggiato: '18' }).slice(0, 1),
    member('20', 'BRUNA')])
  t.same(accepted?.lines, accepted?.records.map(encode))
  t.same(accepted?.leaders, [0, 0, 2, 3, 3])
})

t.test('an empty list is an error', async (t) => {
  t.match(check([]), { valid: false, errors: [{ ospite: 0, campo: 'ospiti' }], records: null })
})

t.test('every field of the record has its name in the API', async (t) => {
  const known: readonly string[] = [...SCHEDINA_FIELDS, ...STAY_FIELDS, ...OWN_DAY_FIELDS]
  t.same(LAYOUT_FILE_UNICO.map(({ name }) => apiName(name)).filter((campo) => !known.includes(campo)), [])
  t.equal(apiName('num_doc'), 'numero_documento')
  t.equal(apiName('line'), 'ospiti')
})

t.test('a value that only the layout refuses is an error on the guest', async (t) => {
  // The second guest's document code is in these tables, but no record can contain it.
  const { valid, errors, records } = check([single(), foreigner({ tipo_documento: 'PÈ-01' })])
  t.notOk(valid)
  t.same(records, null)
  t.match(errors, [{ ospite: 1, campo: 'tipo_documento', messaggio: /cinque lettere A-Z o cifre/ }])
})

const guestFields = [...SCHEDINA_FIELDS, ...OWN_DAY_FIELDS]
const known: readonly string[] = [...guestFields, ...STAY_FIELDS]

/** Values for a field: likely, unlikely and impossible ones. */
const codes = [
  '16', '17', '18', '19', '20', 'M', 'F', '1980-05-15', '2026-11-22', '1850-01-01', '100000100', '100000216',
  '100000210', '412058091', '058091', '408040012', 'RM', 'FO', 'IDELE', 'PASOR', 'CA00000AA'
]
const value = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...codes) },
  { weight: 1, arbitrary: fc.constantFrom('', null, undefined, ' ', '__proto__') },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 60 }) }
)
const changes = fc.dictionary(fc.constantFrom(...guestFields), value, { maxKeys: 3, noNullPrototype: true })
/** Valid lists, in which some guests were changed. */
const lists = fc
  .array(
    fc.tuple(
      fc.constantFrom([single()], [foreigner()], family()),
      fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: changes }),
      fc.string({ unit: fc.constantFrom('à', 'b', 'Z', '-'), maxLength: 4 })
    ),
    { minLength: 1, maxLength: 3 }
  )
  .map((parts) =>
    parts.flatMap(([group, changed, name]) =>
      group.map((guest, index) => ({ ...guest, nome: `${guest.nome} ${name}`, ...(index === 0 ? changed : {}) }))
    )
  )
const stay = fc.record({
  check_in: mostly(fc.constantFrom('2026-11-21', '2026-11-20'), ['2026-11-01', '', null]),
  numero_notti: mostly(fc.integer({ min: 1, max: 40 }), [0, 1.5, undefined]),
  id_appartamento: fc.oneof(fc.constant(undefined), mostly(fc.integer({ min: 0, max: 999_999 }), [-1]))
})

function mostly<T, U> (right: fc.Arbitrary<T>, wrong: U[]): fc.Arbitrary<T | U> {
  return fc.oneof({ weight: 5, arbitrary: right }, { weight: 1, arbitrary: fc.constantFrom(...wrong) })
}

t.test('validate never throws, with any JSON as list and stay', async () => {
  const anyField = fc.dictionary(fc.constantFrom(...guestFields, '__proto__', 'altro'), fc.jsonValue(), {
    noNullPrototype: true
  })
  const anyStay = fc.dictionary(
    fc.constantFrom('check_in', 'check_out', 'numero_notti', 'id_appartamento'),
    fc.jsonValue(),
    { noNullPrototype: true }
  )
  const anyList = fc.array(fc.oneof(anyField, fc.jsonValue()), { maxLength: 4 })
  fc.assert(fc.property(anyList, anyStay, (ospiti, soggiorno) => {
    const { valid, errors, records } = check(ospiti, soggiorno)
    return valid === (errors.length === 0) && valid === (records !== null)
  }), { numRuns: 500 })
})

t.test('every remark belongs to a guest of the list and a field of the API, and has no unfilled text', async () => {
  fc.assert(fc.property(lists, stay, (ospiti, soggiorno) => {
    const { errors, warnings } = check(ospiti, soggiorno)
    return [...errors, ...warnings].every(({ ospite, campo, messaggio }) => (
      ospite in ospiti && known.includes(campo) && messaggio.length > 10 && !messaggio.includes('undefined')))
  }), { numRuns: 500 })
})

t.test(
  'a valid list gives records that encode to 168 characters, or 174 for the File Unico, and decode to themselves',
  async (t) => {
    let seen = 0
    fc.assert(
      fc.property(lists, stay, (ospiti, soggiorno) => {
        const { valid, records } = check(ospiti, soggiorno)
        if (!valid || !records) return true
        seen++
        return (
          records.length === ospiti.length &&
          records.every((record) => {
            const line = encode(record)
            const decoded = decode(line)
            return (
              line.length === (soggiorno.id_appartamento === undefined ? 168 : 174) &&
              'record' in decoded &&
              JSON.stringify(decoded.record) === JSON.stringify(record)
            )
          })
        )
      }),
      { numRuns: 500 }
    )
    t.ok(seen > 50, `${seen} valid lists were tried`)
  }
)

t.test(
  'a valid record has comune and province exactly for a birth in Italy, and they agree with the table',
  async (t) => {
    let seen = 0
    fc.assert(
      fc.property(lists, stay, (ospiti, soggiorno) => {
        for (const record of check(ospiti, soggiorno).records ?? []) {
          seen++
          const italian = record.stato_nascita === '100000100'
          if (italian !== (record.comune_nascita !== '') || italian !== (record.provincia !== '')) return false
          if (italian && tables.comune(record.comune_nascita)?.provincia !== record.provincia) return false
          const document = ['16', '17', '18'].includes(record.tipo_alloggiato)
          if ([record.tipo_doc, record.num_doc, record.luogo_rilascio].some((text) => (text !== '') !== document)) {
            return false
          }
        }
        return true
      }),
      { numRuns: 500 }
    )
    t.ok(seen > 50, `${seen} records were seen`)
  }
)
