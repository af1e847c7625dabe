import type { FastifyReply } from 'fastify'
import type { Pdf } from './plugin.ts'

/** Characters of the header with the warnings: many proxies have room for 4 KiB of head, which holds others, too. */
const WARNINGS_MAX = 2000

/** `X-PDF-Warnings`: JSON in ASCII, as many warnings as find room; without any there is no header. */
export function warn (reply: FastifyReply, { warnings }: Pick<Pdf, 'warnings'>): void {
  const told = [...warnings]
  let text = inAscii(told)
  while (text.length > WARNINGS_MAX) {
    told.pop()
    text = inAscii(told)
  }
  if (told.length > 0) reply.header('x-pdf-warnings', text)
}

function inAscii (value: unknown): string {
  return JSON.stringify(value).replace(/[^\x20-\x7e]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
