import { Type, type Static } from '@sinclair/typebox'
import { Open, OneOf } from './common.ts'

/* Transformations of images in the format of Supabase Storage. */

/** Larger sizes are lowered to this, as in Supabase Storage. */
export const TRANSFORM_SIDE_MAX = 2500

const side = (which: string) => Type.Optional(Type.Integer({
  minimum: 0,
  description: `${which} in pixel, al massimo ${TRANSFORM_SIDE_MAX}; un’immagine non si ingrandisce mai`,
  examples: [200]
}))

/** The fields of a transformation, in a query or a body. */
export const transformFields = {
  width: side('La larghezza'),
  height: side('L’altezza'),
  resize: Type.Optional(OneOf(['cover', 'contain', 'fill'], {
    description: '`cover` (se manca) riempie le misure e taglia il resto; `contain` ci sta dentro; `fill` deforma'
  })),
  quality: Type.Optional(Type.Integer({
    minimum: 20, maximum: 100, description: 'La qualità, se manca 80 (AVIF: 62); in PNG non conta', examples: [80]
  })),
  format: Type.Optional(OneOf(['origin', 'webp', 'avif'], {
    description: '`origin`: quello dell’immagine. Se manca, WebP per chi lo accetta (`Accept`), altrimenti `origin`'
  }))
}

export const Transform = Open(transformFields, { description: 'Come l’immagine si trasforma' })
export type Transform = Static<typeof Transform>
