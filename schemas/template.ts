import { Type, type Static } from '@sinclair/typebox'
import { Closed, errorWith, FieldError, Id, Instant, Nullable, Open, Ref, Text } from './common.ts'
import { TemplateText } from './report.ts'

/* Saved PDF templates. */

/** The format of an id. */
export const TEMPLATE_ID = /^[0-9a-f]{16}$/

const ID = '00377b2b1e0ee394'
const nome = Text(200, { minLength: 1, examples: ['Conferma di prenotazione'] })
const versione = Type.Integer({ description: 'Cresce a ogni modifica; 0 per un modello predefinito', examples: [1] })
const summary = {
  id: Type.String({ examples: [ID] }),
  nome,
  predefinito: Type.Boolean({ description: 'Del prodotto: si legge e si copia, non si cambia', examples: [false] }),
  versione,
  updated_at: Nullable(Instant)
}

export const TemplateItem = Closed(summary, { $id: 'ModelloInElenco' })
export type TemplateItem = Static<typeof TemplateItem>

const example = Open({}, { description: 'Valori di prova, per l’anteprima', examples: [{ nome: 'Anna' }] })
const variables = Type.Array(Type.String(), {
  description: 'Che cosa il modello vuole dai dati', examples: [['nome']]
})

export const Template = Closed(
  { ...summary, template: TemplateText, esempio: Nullable(example), variabili: variables },
  { $id: 'Modello' }
)
export type Template = Static<typeof Template>

export const TemplateSaving = Closed(
  { nome, template: TemplateText, esempio: Type.Optional(example) },
  {
    examples: [{
      nome: 'Conferma di prenotazione',
      template: '<document><page><p>Buongiorno {{ nome }}</p></page></document>',
      esempio: { nome: 'Anna' }
    }]
  }
)
export type TemplateSaving = Static<typeof TemplateSaving>

/** Ids in another format match no template. */
export const TemplateParams = Closed({
  id: Type.String({
    pattern: '^[A-Za-z0-9-]{1,100}$',
    description: 'L’id del modello, 16 cifre esadecimali minuscole; per uno nuovo lo sceglie chi lo salva'
  })
})

export const TemplateList = Closed({ data: Type.Array(Ref(TemplateItem)) })
export const TemplateResponse = Closed({ data: Ref(Template) })
/** @param status 201 for a new one */
export const TemplateSaved = (status: 200 | 201) =>
  Closed({ data: Ref(Template), status: Type.Integer({ examples: [status] }) })
/** A version number of a template. */
export const TemplateVersionParams = Closed({
  ...TemplateParams.properties,
  versione: { ...Id, description: 'Quale versione, come la dà l’elenco delle versioni' }
})
export const TemplateVersions = Closed({
  data: Type.Array(Closed({ versione, nome, updated_at: Instant }))
}, { examples: [{ data: [{ versione: 1, nome: 'Conferma', updated_at: '2026-11-23T09:30:00.000Z' }] }] })
export const TemplateRemoved = Closed(
  { message: Type.String(), status: Type.Integer() },
  { examples: [{ message: 'Modello eliminato', status: 200 }] }
)

/** Sample data that replace the template's own in a preview. */
export const PreviewRequest = Closed(
  { data: Type.Optional(Open({})) },
  { examples: [{ data: { nome: 'Anna' } }] }
)

export const TemplateCheck = Closed(
  { template: TemplateText, esempio: Type.Optional(example) },
  {
    examples: [{
      template: '<document><page><p>Buongiorno {{ nome }}</p></page></document>',
      esempio: { nome: 'Anna' }
    }]
  }
)

const fault = Closed({
  codice: Type.String({ examples: ['ELEMENTO_SCONOSCIUTO'] }),
  messaggio: Type.String(),
  riga: Nullable(Type.Integer()),
  colonna: Nullable(Type.Integer())
})
export const TemplateChecked = Closed(
  {
    valid: Type.Boolean(),
    variabili: variables,
    errors: Type.Array(fault),
    warnings: Type.Array(Closed({ codice: Type.String(), messaggio: Type.String() }))
  },
  { examples: [{ valid: true, variabili: ['nome'], errors: [], warnings: [] }] }
)

/** A 400 with the position of the error in the template or the CSV file. */
export const TemplateFault = errorWith(
  {
    dettagli: Type.Optional(Type.Array(FieldError)),
    riga: Type.Optional(Nullable(Type.Integer())),
    colonna: Type.Optional(Nullable(Type.Integer()))
  },
  {
    $id: 'ModelloNonValido',
    examples: [{
      error: 'Modello non valido: riga 2, colonna 1: elemento <nix> sconosciuto',
      status: 400,
      codice: 'ELEMENTO_SCONOSCIUTO',
      requestId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f',
      dettagli: [{ campo: 'template', messaggio: 'riga 2, colonna 1: elemento <nix> sconosciuto' }],
      riga: 2,
      colonna: 1
    }]
  }
)
