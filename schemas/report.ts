import { Type, type Static } from '@sinclair/typebox'
import { Closed, OneOf, Open, Text, Upper } from './common.ts'

/* Requests that make a PDF. */

/** Maximum rows of a report, else 400. */
const REPORT_ROWS_MAX = 20_000
/** Maximum bytes of a body with rows or data. */
export const REPORT_BODY_MAX = 8 * 1024 * 1024
/** Maximum bytes of a CSV file. */
export const CSV_BYTES_MAX = 8 * 1024 * 1024
/** Maximum characters of a template, as in the engine. */
const TEMPLATE_MAX = 64_000

/** The id of a template. Ids have 16 hexadecimal digits, so other texts match no template. */
const templateId = Text(100, { minLength: 1, examples: ['d2577b23c4d40496'] })
const reportTemplateId = { ...templateId, description: 'L’id del modello; se manca, quello predefinito dei report' }
/** The user for whom it is made. */
const userId = Text(100, {
  minLength: 1,
  description: 'L’id della persona per cui è e si conserva; se manca, chi chiama',
  examples: ['7d0f9c1e-5a63-4b1c-8a52-3f5f9a1f7d10']
})
const title = Text(200, {
  description: 'Il titolo del report, che dà anche il nome al file', examples: ['Report finanziario 2026']
})

const valuta = Upper(Type.String({
  pattern: '^[A-Za-z]{3}$',
  description: 'La valuta degli importi che non ne dicono una; se manca, EUR',
  examples: ['EUR']
}))

const rowExample = {
  listingId: 'L1',
  listingTitle: 'Trilocale al lago',
  firstName: 'Anna',
  lastName: 'Bianchi',
  Q1Payouts: '1234.50',
  Q1Checkins: 7
}

/** Without characters that PostgreSQL cannot store. */
export const TemplateText = Type.String({
  minLength: 1,
  maxLength: TEMPLATE_MAX,
  pattern: '^[^\\u0000\\ud800-\\udfff]*$',
  description: 'Il codice del modello: elementi come `<page>` e `<p>`, o HTML comune, e Liquid. Senza `<document>` ' +
    'va su pagine A4',
  examples: ['<document><page><p>Buongiorno {{ nome }}</p></page></document>']
})

export const PdfRequest = Closed(
  {
    template_id: Type.Optional({ ...templateId, description: 'L’id di un modello salvato' }),
    template: Type.Optional(TemplateText),
    data: Type.Optional(Open({}, { description: 'I valori che il modello nomina' })),
    nome: Type.Optional(Text(150, { minLength: 1, description: 'Il nome del file', examples: ['conferma.pdf'] })),
    lingua: Type.Optional(Upper(Type.String({
      pattern: '^[A-Za-z]{2}$', description: 'In cui si scrivono date e numeri, se il modello non lo dice'
    }))),
    user_id: Type.Optional(userId)
  },
  {
    description: 'O template_id, o template: il codice del modello',
    examples: [{ template: '<document><page><p>Buongiorno {{ nome }}</p></page></document>', data: { nome: 'Anna' } }]
  }
)
export type PdfRequest = Static<typeof PdfRequest>

export const ReportRequest = Closed(
  {
    rows: Type.Array(Open({}), {
      maxItems: REPORT_ROWS_MAX, description: 'Le righe: oggetti con i campi che si vogliono, che sono le colonne'
    }),
    templateId: Type.Optional(reportTemplateId),
    user_id: Type.Optional(userId),
    titolo: Type.Optional(title),
    valuta: Type.Optional(valuta)
  },
  { examples: [{ rows: [rowExample] }] }
)
export type ReportRequest = Static<typeof ReportRequest>

/** A form with a CSV file. */
export const ReportForm = Closed({
  file: Type.Unsafe<Buffer>({
    contentMediaType: 'text/csv',
    description: `Il file CSV, con filename: al massimo ${CSV_BYTES_MAX / 1024 ** 2} MiB e ${REPORT_ROWS_MAX} righe`
  }),
  templateId: Type.Optional(reportTemplateId),
  user_id: Type.Optional(userId),
  titolo: Type.Optional(title),
  valuta: Type.Optional(valuta),
  decimali: Type.Optional(OneOf(['punto', 'virgola'] as const, {
    description: 'Come il file scrive i numeri: 1234.50 (punto) o 1.234,50 (virgola). Senza, lo dicono i suoi valori'
  }))
}, {
  description: 'Un modulo con questi campi e nessun altro: `curl -F file=@incassi.csv -F decimali=virgola …`'
})
export type ReportForm = Static<typeof ReportForm>
