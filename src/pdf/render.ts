import { AsyncLocalStorage } from 'node:async_hooks'
import { type DocumentProps, renderToBuffer } from '@react-pdf/renderer'
import type { ReactElement } from 'react'
import { cleanText, plainData } from './data.ts'
import { TemplateError } from './errors.ts'
import { type HtmlDocument, toHtml } from './html/to-html.ts'
import { languageOf } from './language/formats.ts'
import { expand } from './language/liquid.ts'
import type { Asset, Build, Warning, WarningCode } from './layout/build.ts'
import { buildDocument } from './layout/build-document.ts'
import { type Sheet, sheetOf } from './layout/sheet.ts'
import { checkLimit } from './pdf-limits.ts'
import { type Checked, checkMarkup } from './markup/check-markup.ts'
import { readMarkup } from './markup/common-html.ts'
import { fontUse } from './text/fonts.ts'
import { wordBreaker } from './text/words.ts'

/** Errors that only the renderer detects: no space on the page, or a drawing without width or height. */
const NO_ROOM = /leaves no room for content|unsupported number/
/** The renderer's warnings about an unbreakable box that is higher than the page. */
const TOO_HIGH = /exceeds available height|bigger than available page height/

/** The function that receives the renderer's console output for the current document. */
const listening = new AsyncLocalStorage<(said: string) => void>()

/* Captures console output during `draw`. The renderer reports cut content only there, and must not write to the log. */
/* eslint-disable no-console */
for (const level of ['log', 'warn', 'error'] as const) {
  const usual = console[level]
  console[level] = (...said: unknown[]) => {
    const hear = listening.getStore()
    if (hear) hear(String(said[0]))
    else usual.apply(console, said)
  }
}
/* eslint-enable no-console */

/**
 * Renders the document to a PDF.
 * @param onCut called for each box that is cut because it is higher than a page
 * @throws TemplateError when margins and sizes leave no space
 */
async function draw (element: ReactElement<DocumentProps>, onCut: () => void): Promise<Buffer> {
  const hear = (said: string) => { if (TOO_HIGH.test(said)) onCut() }
  try {
    return await listening.run(hear, () => renderToBuffer(element))
  } catch (err) {
    if (!(err instanceof Error) || !NO_ROOM.test(err.message)) throw err
    throw new TemplateError('STILE_NON_AMMESSO', 'margini e misure non lasciano spazio al contenuto')
  }
}

export interface RenderOptions {
  /** The creation date in the PDF. The same input with the same date gives the same bytes. */
  date: Date
  /** A two-letter code. The `language` of the template takes precedence. */
  language?: string | undefined
  /** Trusted images by name. The renderer decodes them in full size. */
  assets?: Record<string, Asset> | undefined
}

export interface Rendered { bytes: Buffer, pages: number, warnings: Warning[] }

const CUT = 'un elemento che non si divide tra più pagine è più alto della pagina: il resto non si vede'
const DOCUMENT_LANGUAGE = /<document\b[^>]*\slanguage="(it|en|de|fr)"/

/**
 * Makes a PDF from a template and data. It fetches nothing, reads no files except fonts, and refuses input beyond the
 * limits. It is slow and needs much memory, so it runs in a worker.
 * @throws TemplateError for errors in the template or the data, with line and column where they are known
 */
export async function renderPdf (source: string, data: unknown, options: RenderOptions): Promise<Rendered> {
  const { element, warnings, warn } = prepare(source, data, options, false)
  const bytes = await draw(element, () => warn('TESTO_TRONCATO', CUT))
  checkLimit('bytes', bytes.length)
  const pages = countPages(bytes)
  checkLimit('pages', pages)
  return { bytes, pages, warnings: warnings() }
}

/** A document as HTML for an external engine, with the paper of its first page. */
export interface RenderedHtml { html: HtmlDocument, sheet: Sheet, warnings: Warning[] }

/**
 * Renders the same document as `renderPdf`, but as HTML for an external engine.
 * @throws TemplateError like `renderPdf`
 */
export function renderHtml (source: string, data: unknown, options: RenderOptions): RenderedHtml {
  const { element, warnings, document } = prepare(source, data, options, true)
  const page = document.children.find((child): child is Checked<'page'> => child.name === 'page')!
  return { html: toHtml(element), sheet: sheetOf(page, document.values), warnings: warnings() }
}

/** @param flows whether an external engine does the pagination */
function prepare (source: string, data: unknown, options: RenderOptions, flows: boolean) {
  if (typeof source !== 'string') throw new TemplateError('DATI_NON_VALIDI', 'il modello deve essere un testo')
  const template = cleanText(source)
  const values = plainData(data)
  const language = languageOf(DOCUMENT_LANGUAGE.exec(template)?.[1] ?? options.language ?? 'it')
  const expanded = expand(template, values, language)
  const { document, accent, fontSize } = checkMarkup(readMarkup(expanded.text, expanded.placeOf))
  const warnings: Warning[] = expanded.missing.map((path) => ({
    codice: 'VARIABILE_MANCANTE', messaggio: `i dati non hanno «${path}»`
  }))
  const counts = { charts: 0, codes: 0, images: 0 }
  const build: Build = {
    data: values,
    language,
    accent,
    headingFace: document.values['heading-font'] ?? document.values.font ?? 'sans',
    fontSize,
    bodyWidth: 0,
    flows,
    fonts: fontUse(),
    assets: new Map(Object.entries(options.assets ?? {})),
    breakWord: wordBreaker(language),
    warn: (codice, messaggio) => {
      if (!warnings.some((known) => known.messaggio === messaggio)) warnings.push({ codice, messaggio })
    },
    count: (what) => checkLimit(what, ++counts[what])
  }
  const element = buildDocument(document, build, options.date)
  return { element, document, warn: build.warn, warnings: () => [...warnings, ...replacements(build)] }
}

function replacements ({ fonts: { replaced } }: Build): Warning[] {
  const warn = (codice: WarningCode, text: string, characters: Set<string>): Warning[] =>
    characters.size === 0 ? [] : [{ codice, messaggio: `${text}: ${[...characters].slice(0, 20).join(' ')}` }]
  return [
    ...warn('CARATTERE_SEMPLIFICATO', 'scritti in forma più semplice', replaced.simplified),
    ...warn('CARATTERE_MANCANTE', 'nessun carattere tipografico per', replaced.boxed)
  ]
}

/** Counts page objects, which the renderer writes uncompressed. */
function countPages (bytes: Buffer): number {
  return bytes.toString('latin1').match(/\/Type \/Page\b(?!s)/g)?.length ?? 0
}
