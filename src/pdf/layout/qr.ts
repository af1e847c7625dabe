import { Path, Rect, Svg, View } from '@react-pdf/renderer'
import { type BitMatrix, create } from 'qrcode'
import { createElement, type ReactNode } from 'react'
import { TemplateError } from '../errors.ts'
import { checkLimit } from '../pdf-limits.ts'
import type { Checked } from '../markup/check-markup.ts'
import type { Values } from '../markup/elements.ts'
import type { Build } from './build.ts'

/**
 * The text of a Wi-Fi QR code. Special characters are escaped. Otherwise a semicolon in the password would end the
 * password, and a phone would read the rest as further settings.
 */
export function wifiText (
  { name, password, security }: { name: string, password: string, security: 'WPA' | 'WEP' | 'nopass' }
): string {
  const open = security === 'nopass' || password === ''
  const escape = (text: string) => text.replace(/[\\;,:"]/g, (mark) => `\\${mark}`)
  return `WIFI:T:${open ? 'nopass' : security};S:${escape(name)};${open ? '' : `P:${escape(password)};`};`
}

/** The quiet zone in modules. Many phones do not detect a code without it. */
const QUIET = 4

/** A QR code, drawn as one vector path. */
export function qr ({ values, style, place }: Checked<'qr'>, build: Build): ReactNode {
  build.count('codes')
  const text = textOf(values)
  if (text === undefined) {
    throw new TemplateError('ATTRIBUTO_MANCANTE', 'a <qr> serve «value», oppure «wifi-name»', place)
  }
  checkLimit('codeBytes', Buffer.byteLength(text), place)
  const { modules } = create(text, { errorCorrectionLevel: 'M' })
  const width = modules.size + QUIET * 2
  const size = values.size ?? 90
  return createElement(
    View,
    { style, wrap: false },
    createElement(
      Svg,
      { viewBox: `0 0 ${width} ${width}`, width: size, height: size },
      createElement(Rect, { x: 0, y: 0, width, height: width, fill: '#ffffff' }),
      createElement(Path, { d: outline(modules), fill: '#000000' })
    )
  )
}

function textOf (values: Values<'qr'>): string | undefined {
  const name = values['wifi-name']
  if (name === undefined || name === '') return values.value === '' ? undefined : values.value
  return wifiText({ name, password: values['wifi-password'] ?? '', security: values['wifi-security'] ?? 'WPA' })
}

/** One rectangle for each run of adjacent dark modules in a row. */
function outline (modules: BitMatrix): string {
  const { size } = modules
  let path = ''
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const start = column
      while (column < size && modules.get(row, column) === 1) column++
      if (column > start) path += `M${start + QUIET} ${row + QUIET}h${column - start}v1h${start - column}z`
    }
  }
  return path
}
