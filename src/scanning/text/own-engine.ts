import type { TextEngine } from './engine.ts'
import type { TextSource } from './source.ts'

/** Texts are read on this machine: pictures go nowhere. */
export function ownEngine (engine: Pick<TextEngine, 'read'>): TextSource {
  return {
    kind: 'engine',
    turnsByItself: false,
    read: ({ page }, { signal, ...options }) => engine.read({ page: page!, ...options }, signal)
  }
}
