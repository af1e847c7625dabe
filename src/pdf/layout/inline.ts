import { createElement, type ReactNode } from 'react'
import { Link, Text } from '@react-pdf/renderer'
import { cleanText } from '../data.ts'
import { checkLimit } from '../pdf-limits.ts'
import { isText, type CheckedNode } from '../markup/check-markup.ts'
import type { Style } from '../markup/style-attribute.ts'
import { withoutIdleHyphens } from '../text/words.ts'
import type { Build } from './build.ts'

const LOOKS: Record<string, Style> = { b: { fontWeight: 700 }, i: { fontStyle: 'italic' } }
/** A short text of which nothing is to be cleaned, and that every font has. */
const PLAIN = /^[\x20-\x7e]{0,200}$/
const INLINE = new Set(['b', 'i', 'span', 'a', 'br'])

/** True for what runs on in a line of text. */
export function isInline (node: CheckedNode): boolean {
  return isText(node) || INLINE.has(node.name)
}

/** A paragraph: its blanks are joined as in HTML, or its lines kept. Null where there is nothing to read. */
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

/** A text of ours, with its characters in the document's fonts. */
export function words (text: string, style: Style, build: Build): ReactNode {
  return createElement(Text, { style, hyphenationCallback: build.breakWord }, fitted(text, build))
}

/** @throws TemplateError for a word that no line could hold */
export function fitted (text: string, build: Build, place?: CheckedNode['place']): string {
  if (PLAIN.test(text)) return text
  for (const word of text.split(/[\s\u00AD]/)) checkLimit('word', word.length, place)
  // What no font has may leave two of them side by side.
  return withoutIdleHyphens(build.fonts.fit(cleanText(text)))
}

interface Flow {
  build: Build
  lines: 'join' | 'keep'
  /** At the start of a line or after a blank: a further blank would be one too many. */
  afterBlank: boolean
  /** There is nothing to read yet. */
  isEmpty: boolean
}

function inline (node: CheckedNode, flow: Flow, key: number): ReactNode {
  if (isText(node)) return fitted(flowing(node.text, flow), flow.build, node.place)
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
  // Blanks of the template before the first word are no part of the text.
  const shown = kept ? (flow.isEmpty ? joined.trimStart() : joined) : flow.afterBlank ? joined.replace(/^ /, '') : joined
  if (shown.trim() !== '') flow.isEmpty = false
  if (shown !== '') flow.afterBlank = /[ \n]$/.test(shown)
  return shown
}
