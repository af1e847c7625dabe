/** A code, and the enhanced code where it is of the same class: `550 5.1.1 …`, or `550-5.1.1 …` of several lines. */
const REPLY = /^(([2-5])\d\d)(?:[ -](\2\.\d{1,3}\.\d{1,3})(?!\S))?/

/**
 * Of an SMTP server's reply the codes alone: that of RFC 5321 and, where the server gives one, the enhanced status code
 * of RFC 3463, e.g. `550 5.1.1`. Its words may name recipients. Null where it is no reply.
 */
export function replyCodes (reply: string): string | null {
  const [, code, , enhanced] = REPLY.exec(reply) ?? []
  if (code === undefined) return null
  return enhanced === undefined ? code : `${code} ${enhanced}`
}
