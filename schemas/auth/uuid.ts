import { Type } from '@sinclair/typebox'

/** Ids of the identity provider. */
export const Uuid = Type.String({
  pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
  maxLength: 36,
  examples: ['6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11']
})
