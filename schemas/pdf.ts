import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, OneOf, Ref, Text } from './common.ts'
import { pagingOrWhole } from './paging.ts'

/* Stored PDFs. */

/** Kinds of PDFs: financial report, welcome letter, document from a saved template. */
export const PDF_KINDS = ['report_finanziario', 'lettera_benvenuto', 'documento_pdf'] as const
export type PdfKind = typeof PDF_KINDS[number]

/** A PDF is recorded only when it exists. */
export const PDF_STATES = ['completato'] as const

const EXAMPLE_ID = '6f1e4b0a-58d3-4a0e-9d6c-0c0e2f7a1b11'
const EXAMPLE_URL = `https://locanda.example/api/csv-pdf-download/${EXAMPLE_ID}`
const CREATED = '2026-11-23T09:30:00.000Z'

const id = Type.String({ examples: [EXAMPLE_ID] })
const downloadUrl = Type.String({ examples: [EXAMPLE_URL] })
/** The id of a user of the identity provider. */
const userId = Text(100, {
  minLength: 1,
  description: 'L’id della persona di cui sono; di altri li vedono gli amministratori e la chiave del server',
  examples: ['7d0f9c1e-5a63-4b1c-8a52-3f5f9a1f7d10']
})

export const PdfListItem = Closed(
  { id, nome: Type.String({ examples: ['report-2026-11-23.pdf'] }), created_at: Instant, download_url: downloadUrl },
  { $id: 'PdfGenerato' }
)
export type PdfListItem = Static<typeof PdfListItem>

export const PdfHistoryItem = Closed({
  id,
  tipo: OneOf(PDF_KINDS, { examples: ['report_finanziario'] }),
  utente: Type.String({ description: '«» per un PDF che non è di una persona' }),
  template_id: Type.String({ description: '«» per un modello scritto nella richiesta' }),
  created_at: Instant,
  stato: OneOf(PDF_STATES),
  download_url: downloadUrl
}, {
  $id: 'PdfNellaStoria',
  examples: [{
    id: EXAMPLE_ID,
    tipo: 'report_finanziario',
    utente: '7d0f9c1e-5a63-4b1c-8a52-3f5f9a1f7d10',
    template_id: 'd2577b23c4d40496',
    created_at: CREATED,
    stato: 'completato',
    download_url: EXAMPLE_URL
  }]
})
export type PdfHistoryItem = Static<typeof PdfHistoryItem>

export const PdfListQuery = Closed({ user_id: userId, ...pagingOrWhole })
export const PdfHistoryQuery = Closed(pagingOrWhole)
export const PdfList = Closed({ data: Type.Array(Ref(PdfListItem)) })
export const PdfHistory = Closed({ data: Type.Array(Ref(PdfHistoryItem)) })

/** The id of a stored PDF. Other formats match none. */
export const PdfParams = Closed({
  id: Type.String({ pattern: '^[A-Za-z0-9-]{1,100}$', description: 'L’id del PDF, come lo dà GET /api/history' })
})

export const PdfMade = Closed(
  {
    status: OneOf(['success'] as const),
    download_url: Type.String(),
    transaction_ref: Type.String({ description: 'L’id del PDF nella storia' })
  },
  { $id: 'PdfCreato', examples: [{ status: 'success', download_url: EXAMPLE_URL, transaction_ref: EXAMPLE_ID }] }
)

export const PdfRemoved = Closed(
  { message: Type.String(), status: Type.Integer() },
  { examples: [{ message: 'PDF eliminato', status: 200 }] }
)

const binary = { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) }
export const PdfBytes = { description: 'Il PDF', content: { 'application/pdf': binary } }
export const PdfBytesPart = { description: 'La parte chiesta con Range', content: { 'application/pdf': binary } }
export const PdfBytesOrMade = {
  description: 'Il PDF o, con Accept: application/json, dove si scarica',
  content: { 'application/pdf': binary, 'application/json': { schema: Ref(PdfMade) } }
}
