/** A code, and an enhanced code of the same class: `550 5.1.1 …`, or `550-5.1.1 …` in a reply of several lines. */
const REPLY = /^(([2-5])\d\d)(?:[ -](\2\.\d{1,3}\.\d{1,3})(?!\S))?/

/**
 * Extracts the codes of an SMTP reply: the code of RFC 5321 and, if present, the enhanced status code of RFC 3463, e.g.
 * `550 5.1.1`. The text may name recipients. Null if it is not a reply.
 */
export function replyCodes (reply: string): string | null {
  const [, code, , enhanced] = REPLY.exec(reply) ?? []
  if (code === undefined) return null
  return enhanced === undefined ? code : `${code} ${enhanced}`
}
