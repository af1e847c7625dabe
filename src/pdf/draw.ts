import { AsyncLocalStorage } from 'node:async_hooks'
import type { ReactElement } from 'react'
import { renderToBuffer, type DocumentProps } from '@react-pdf/renderer'
import { TemplateError } from './errors.ts'

/** What only the renderer can find out, since it measures: no room in a page, a drawing without width or height. */
const NO_ROOM = /leaves no room for content|unsupported number/
/** What it says of a box that must stand on one page and is higher. */
const TOO_HIGH = /exceeds available height|bigger than available page height/

/** Who hears what the renderer says on the console. */
const listening = new AsyncLocalStorage<(said: string) => void>()

/* The renderer has no other words for what it leaves out, and the lines would stand between those of the log. */
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
 * The document as a PDF.
 * @param onCut told once for every box that is higher than a page: what has no room is not drawn
 * @throws TemplateError where its measures leave no room
 */
export async function draw (element: ReactElement<DocumentProps>, onCut: () => void): Promise<Buffer> {
  const hear = (said: string) => { if (TOO_HIGH.test(said)) onCut() }
  try {
    return await listening.run(hear, () => renderToBuffer(element))
  } catch (err) {
    if (!(err instanceof Error) || !NO_ROOM.test(err.message)) throw err
    throw new TemplateError('STILE_NON_AMMESSO', 'margini e misure non lasciano posto a ciò che vi sta')
  }
}
