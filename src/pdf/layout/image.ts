import { createElement, type ReactNode } from 'react'
import { Image } from '@react-pdf/renderer'
import type { Checked } from '../markup/check.ts'
import type { Build } from './context.ts'

/** A picture of those handed over with the data; a missing one leaves its place empty, with a warning. */
export function image ({ values, style }: Checked<'image'>, build: Build): ReactNode {
  build.count('images')
  const asset = build.assets.get(values.asset!)
  if (!asset) {
    build.warn('IMMAGINE_MANCANTE', `immagine «${values.asset}» non trovata`)
    return null
  }
  return createElement(Image, {
    // Never an address or a path: the renderer would fetch the one and read the other.
    src: { data: Buffer.from(asset.data), format: asset.format },
    cache: false,
    style: {
      objectFit: 'contain',
      width: values.width ?? 120,
      ...(values.height ? { height: values.height } : {}),
      ...style
    }
  })
}
