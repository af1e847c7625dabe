/** The claims of a token, without a check of its signature. */
export function claimsOf (token: string): Record<string, unknown> & { sub: string, session_id: string } {
  return part(token, 1)
}

export function headerOf (token: string): Record<string, unknown> {
  return part(token, 0)
}

function part (token: string, index: number) {
  return JSON.parse(Buffer.from(token.split('.')[index]!, 'base64url').toString())
}
