import { isDay } from '#src/lib/time.ts'
import type { Contract, Field } from './wsdl.ts'
import { unreadable } from './envelope.ts'
import { escapeXml, type XmlElement } from './xml.ts'

type Value = string | number | boolean | Buffer | null | Value[] | Message

/** The elements of a request or response by name. A type that only repeats one element (`ArrayOf…`) is a plain list. */
export interface Message { [name: string]: Value | undefined }

const NIL = '{http://www.w3.org/2001/XMLSchema-instance}nil'
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)?$/
const MAX_INT = 2_147_483_647

/** How each primitive is read from its (untrimmed) text; undefined where the text is not of the type. */
const PRIMITIVES: Record<string, (text: string) => Value | undefined> = {
  string: (text) => text,
  boolean: (text) => /^(?:true|false|1|0)$/.test(text.trim()) ? ['true', '1'].includes(text.trim()) : undefined,
  int: (text) => /^[+-]?\d+$/.test(text.trim()) && Math.abs(Number(text)) <= MAX_INT ? Number(text) : undefined,
  dateTime: (text) => isDay(DATE_TIME.exec(text.trim())?.[1] ?? '') ? text.trim() : undefined,
  base64Binary: (text) => Buffer.from(text, 'base64')
}

/**
 * Reads the elements of a sequence: known, in order, in the namespace, required ones present. Throws a `SoapFault`
 * otherwise.
 */
export function readMessage (fields: Field[], element: XmlElement, contract: Contract): Message {
  if (element.text.trim() !== '') throw unreadable(`Text is not expected in ${element.name}.`)
  const message: Message = {}
  let next = 0
  for (const child of element.children) {
    const index =
      child.uri === contract.namespace ? fields.findIndex(({ name }, i) => i >= next && name === child.name) : -1
    const field = fields[index]
    if (!field) {
      throw unreadable(`Element ${child.name} (namespace '${child.uri}') was not expected in ${element.name}.`)
    }
    next = field.many ? index : index + 1
    const value = readValue(field, child, contract)
    const list = message[field.name]
    if (field.many && Array.isArray(list)) list.push(value)
    else message[field.name] = field.many ? [value] : value
  }
  const missing = fields.find(({ name, required }) => required && message[name] === undefined)
  if (missing) throw unreadable(`Element ${missing.name} is missing in ${element.name}.`)
  return message
}

function readValue (field: Field, element: XmlElement, contract: Contract): Value {
  if (['true', '1'].includes(element.attributes.get(NIL) ?? '')) {
    if (field.nillable) return null
    throw unreadable(`Element ${element.name} cannot be nil.`)
  }
  const fields = contract.types.get(field.type)
  if (fields) {
    const message = readMessage(fields, element, contract)
    const item = listItem(fields)
    return item ? message[item.name] ?? [] : message
  }
  if (element.children.length > 0) throw unreadable(`Element ${element.name} holds text only.`)
  const values = contract.values.get(field.type)
  const value = values ? values.find((one) => one === element.text) : PRIMITIVES[field.type]?.(element.text)
  if (value === undefined) throw unreadable(`The value of ${element.name} is not a valid ${field.type}.`)
  return value
}

/**
 * The markup of a sequence, in the order of the WSDL and not of `message`; undefined fields are left out.
 */
export function writeMessage (fields: Field[], message: Message, contract: Contract): string {
  return fields.map((field) => {
    const value = message[field.name]
    if (value === undefined) return ''
    return (field.many && Array.isArray(value) ? value : [value])
      .map((one) => writeValue(field, one, contract))
      .join('')
  }).join('')
}

function writeValue ({ name, type }: Field, value: Value, contract: Contract): string {
  const content = writeContent(contract.types.get(type), value, contract)
  return content === '' ? `<${name}/>` : `<${name}>${content}</${name}>`
}

function writeContent (fields: Field[] | undefined, value: Value, contract: Contract): string {
  if (value === null) return ''
  if (Buffer.isBuffer(value)) return value.toString('base64')
  if (typeof value !== 'object') return escapeXml(String(value))
  if (!Array.isArray(value)) return writeMessage(fields ?? [], value, contract)
  const item = listItem(fields ?? [])
  return item ? writeMessage([item], { [item.name]: value }, contract) : ''
}

function listItem (fields: Field[]): Field | undefined {
  return fields.length === 1 && fields[0]?.many ? fields[0] : undefined
}
