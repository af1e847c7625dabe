import { parseXml, type XmlElement } from './xml.ts'

const WSDL = 'http://schemas.xmlsoap.org/wsdl/'
const WSDL_SOAP = 'http://schemas.xmlsoap.org/wsdl/soap/'
const XSD = 'http://www.w3.org/2001/XMLSchema'

/** One element of a sequence. `type` is a primitive of XML Schema or a key of `Contract.types` or `Contract.values`. */
export interface Field {
  name: string
  type: string
  required: boolean
  many: boolean
  nillable: boolean
}

interface Operation {
  name: string
  /** SOAPAction, the same in both versions. */
  action: string
  request: Field[]
  response: Field[]
}

/** What the WSDL promises: the only place from which the sandbox knows names, order and types. */
export interface Contract {
  namespace: string
  /** Complex types: their elements in order, inherited ones first. */
  types: Map<string, Field[]>
  values: Map<string, string[]>
  operations: Map<string, Operation>
}

/** Reads a document/literal WSDL whose types are sequences, extensions of sequences and enumerations. */
export function readContract (wsdl: string): Contract {
  const root = parseXml(wsdl)
  const schema = one(one(root, WSDL, 'types'), XSD, 'schema')
  const declared = byName(all(schema, XSD, 'complexType'))
  const elements = byName(all(schema, XSD, 'element'))
  const messages = byName(all(root, WSDL, 'message'))
  const portType = one(root, WSDL, 'portType')
  const actions = byName(all(one(root, WSDL, 'binding'), WSDL, 'operation'))

  const fieldsOf = (complexType: XmlElement): Field[] => {
    const content = complexType.children.find(({ name }) => name === 'complexContent')
    if (!content) return all(one(complexType, XSD, 'sequence'), XSD, 'element').map(field)
    const extension = one(content, XSD, 'extension')
    return [...fieldsOf(get(declared, localName(attribute(extension, 'base')))), ...fieldsOf(extension)]
  }
  const partOf = (operation: XmlElement, direction: 'input' | 'output'): Field[] => {
    const message = get(messages, localName(attribute(one(operation, WSDL, direction), 'message')))
    const element = get(elements, localName(attribute(one(message, WSDL, 'part'), 'element')))
    return fieldsOf(one(element, XSD, 'complexType'))
  }

  return {
    namespace: attribute(root, 'targetNamespace'),
    types: new Map([...declared].map(([name, type]) => [name, fieldsOf(type)])),
    values: new Map(all(schema, XSD, 'simpleType').map((type) => [
      attribute(type, 'name'),
      all(one(type, XSD, 'restriction'), XSD, 'enumeration').map((value) => attribute(value, 'value'))
    ])),
    operations: new Map(all(portType, WSDL, 'operation').map((operation) => {
      const name = attribute(operation, 'name')
      const action = attribute(one(get(actions, name), WSDL_SOAP, 'operation'), 'soapAction')
      return [name, { name, action, request: partOf(operation, 'input'), response: partOf(operation, 'output') }]
    }))
  }
}

function field (element: XmlElement): Field {
  return {
    name: attribute(element, 'name'),
    type: localName(attribute(element, 'type')),
    required: element.attributes.get('minOccurs') !== '0',
    many: element.attributes.get('maxOccurs') === 'unbounded',
    nillable: element.attributes.get('nillable') === 'true'
  }
}

function all (parent: XmlElement, uri: string, name: string): XmlElement[] {
  return parent.children.filter((child) => child.uri === uri && child.name === name)
}

function one (parent: XmlElement, uri: string, name: string): XmlElement {
  const [first] = all(parent, uri, name)
  if (!first) throw new Error(`WSDL: ${name} is missing in ${parent.name}`)
  return first
}

function attribute (element: XmlElement, name: string): string {
  const value = element.attributes.get(name)
  if (value === undefined) throw new Error(`WSDL: ${element.name} has no ${name}`)
  return value
}

function byName (elements: XmlElement[]): Map<string, XmlElement> {
  return new Map(elements.map((element) => [attribute(element, 'name'), element]))
}

function get (elements: Map<string, XmlElement>, name: string): XmlElement {
  const element = elements.get(name)
  if (!element) throw new Error(`WSDL: ${name} is not declared`)
  return element
}

function localName (qualified: string): string {
  return qualified.slice(qualified.indexOf(':') + 1)
}
