import fc from 'fast-check'
import type { RecordSchedina } from '#src/alloggiati/codec/layout.ts'
import { LAYOUT, LAYOUT_FILE_UNICO, type Field } from '#src/alloggiati/codec/layout.ts'
import { isDay } from '#src/lib/time.ts'

/** Generators that use only the layout table, and a second, simple reading of a line. */

const days = fc.oneof(
  fc.integer({ min: -719_162, max: 2_932_896 }).map((day) => new Date(day * 86_400_000).toISOString().slice(0, 10)),
  fc.constantFrom('2000-02-29', '2024-02-29', '1900-02-28', '0001-01-01', '9999-12-31', '2026-11-21')
)

/** Any value that the field may have in a record. */
export function valueOf ({ kind, length, required }: Field): fc.Arbitrary<string | number> {
  switch (kind.type) {
    case 'day': return days
    case 'sex': return fc.constantFrom('M', 'F')
    case 'integer': return fc.integer({ min: kind.min, max: kind.max })
    case 'text': {
      const text = fc
        .string({ unit: fc.constantFrom(...kind.chars), minLength: kind.exact ? length : 1, maxLength: length })
        .filter((value) => value.trim() === value && value !== '')
      return required ? text : fc.oneof({ weight: 3, arbitrary: text }, fc.constant(''))
    }
  }
}

/** Any record that the layout allows. Half of the records are for the File Unico. */
export const records: fc.Arbitrary<RecordSchedina> = fc.boolean().chain((fileUnico) => {
  const fields = fileUnico ? LAYOUT_FILE_UNICO : LAYOUT
  return fc.record(Object.fromEntries(fields.map((field) => [field.name, valueOf(field)])), { noNullPrototype: true })
}).map((record: unknown) => record as RecordSchedina)

/** The fields on the line of a record. */
export function fieldsOf (record: RecordSchedina): readonly Field[] {
  return LAYOUT_FILE_UNICO.filter(({ name }) => name in record)
}

/** A simple check of a field's text on the line, independent of the codec. */
export function isContent ({ kind, length, required }: Field, content: string): boolean {
  switch (kind.type) {
    case 'day':
      return /^\d\d\/\d\d\/\d{4}$/.test(content) && isDay(content.split('/').reverse().join('-'))
    case 'sex':
      return content === kind.M || content === kind.F
    case 'integer':
      return /^(?: *\d+|\d+ *)$/.test(content) && Number(content) >= kind.min && Number(content) <= kind.max
    case 'text': {
      const value = content.replace(/ +$/, '')
      if (value === '') return !required
      return (
        !value.startsWith(' ') &&
        (!kind.exact || value.length === length) &&
        [...value].every((char) => kind.chars.includes(char))
      )
    }
  }
}

/** A simple encoding of a value, independent of the codec: the expected text in the field's columns. */
export function contentOf ({ kind, length }: Field, value: unknown): string {
  const text = String(value)
  switch (kind.type) {
    case 'day': return text.split('-').reverse().join('/')
    case 'sex': return text === 'M' ? '1' : '2'
    case 'integer': return text.padStart(length, '0')
    case 'text': return text.padEnd(length)
  }
}

/** The columns of a field on a line. */
export function columnsOf ({ start, length }: Field, line: string): string {
  return line.slice(start - 1, start - 1 + length)
}

/** `line` with other content in a field's columns. */
export function replaced ({ start, length }: Field, line: string, content: string): string {
  return line.slice(0, start - 1) + content + line.slice(start - 1 + length)
}

/** Wrong content of one field, exactly as wide as the field: nearly right texts, and any UTF-16 code units. */
export function wrongContentOf (field: Field): fc.Arbitrary<string> {
  const wide = (unit: fc.Arbitrary<string>) =>
    fc.array(unit, { minLength: field.length, maxLength: field.length }).map((units) => units.join(''))
  const near = fc.constantFrom(...'0129/AZ \' -.a\u00a0\n\u0000\u0141\u0301')
  const any = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code))
  return fc
    .oneof(wide(near), wide(any), fc.constant(' '.repeat(field.length)))
    .filter((content) => !isContent(field, content))
}
