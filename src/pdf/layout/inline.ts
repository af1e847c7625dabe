import { createElement, type ReactNode } from 'react'
import { Link, Text } from '@react-pdf/renderer'
import { cleanText } from '../data.ts'
import { checkLimit } from '../pdf-limits.ts'
import { isText, type CheckedNode } from '../markup/check-markup.ts'
import type { Style } from '../markup/style-attribute.ts'
import { EMOJI_FONT, emojiPieces } from '../text/emoji.ts'
import { withoutIdleHyphens } from '../text/words.ts'
import type { Build } from './build.ts'

const LOOKS: Record<string, Style> = { b: { fontWeight: 700 }, i: { fontStyle: 'italic' } }
/** Short ASCII text, which needs no cleaning and which every font supports. */
const PLAIN = /^[\x20-\x7e]{0,200}$/
const INLINE = new Set(['b', 'i', 'span', 'a', 'br'])

/** True for text and inline elements. */
export function isInline (node: CheckedNode): boolean {
  return isText(node) || INLINE.has(node.name)
}

/** A paragraph with whitespace collapsed as in HTML, or with its lines kept. Null without visible text. */
export function paragraph (
  nodes: CheckedNode[],
  style: Style,
  build: Build,
  lines: 'join' | 'keep' = 'join'
): ReactNode {
  const flow: Flow = { build, lines, afterBlank: true, isEmpty: true }
  const content = nodes.map((node, at) => inline(node, flow, at))
  if (flow.isEmpty) return null
  return createElement(Text, { style, hyphenationCallback: build.breakWord }, ...content)
}

/** A plain text element with the document's fonts. */
export function words (text: string, style: Style, build: Build): ReactNode {
  return createElement(Text, { style, hyphenationCallback: build.breakWord }, ...drawn(fitted(text, build)))
}

/**
 * The text without characters that the fonts lack.
 * @throws TemplateError for a word longer than the limit
 */
export function fitted (text: string, build: Build, place?: CheckedNode['place']): string {
  if (PLAIN.test(text)) return text
  for (const word of text.split(/[\s\u00AD]/)) checkLimit('word', word.length, place)
  // If `fit` removes a character, two soft hyphens may follow each other.
  return withoutIdleHyphens(build.fonts.fit(cleanText(text)))
}

/** Keeps each emoji whole. The renderer chooses fonts per character, and would split an emoji of several characters. */
function drawn (text: string): ReactNode[] {
  return emojiPieces(text).map((piece, at) =>
    at % 2 === 1 ? createElement(Text, { key: at, style: { fontFamily: EMOJI_FONT } }, piece) : piece)
}

interface Flow {
  build: Build
  lines: 'join' | 'keep'
  /** Whether the text so far ends in whitespace or a line start, so that further whitespace is dropped. */
  afterBlank: boolean
  /** Whether the text so far is only whitespace. */
  isEmpty: boolean
}

function inline (node: CheckedNode, flow: Flow, key: number): ReactNode {
  if (isText(node)) return drawn(fitted(flowing(node.text, flow), flow.build, node.place))
  if (node.name === 'br') {
    flow.afterBlank = true
    return '\n'
  }
  const children = node.children.map((child, at) => inline(child, flow, at))
  if (node.name === 'a') {
    return createElement(Link, { key, src: node.values.href!.trim(), style: { color: flow.build.accent } }, ...children)
  }
  return createElement(Text, { key, style: LOOKS[node.name] ?? node.style }, ...children)
}

function flowing (text: string, flow: Flow): string {
  const kept = flow.lines === 'keep'
  const joined = kept ? text.replace(/\r\n?/g, '\n').replace(/\t/g, ' ') : text.replace(/[ \t\r\n]+/g, ' ')
  // Drop whitespace before the first word, which is indentation of the template.
  const shown = kept ? (flow.isEmpty ? joined.trimStart() : joined) : flow.afterBlank ? joined.replace(/^ /, '') : joined
  if (shown.trim() !== '') flow.isEmpty = false
  if (shown !== '') flow.afterBlank = /[ \n]$/.test(shown)
  return shown
}
