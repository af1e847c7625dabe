import type { Context } from '../context.ts'
import { EXIT, type Exit } from '../errors.ts'
import { day } from '../instants.ts'
import { mintKey } from '../sign-in.ts'

export interface KeyOptions { email?: string, giorni?: number, scope?: readonly string[] }

/** Makes a further key, for another program: shown this once and not kept. */
export async function key (context: Context, { email, giorni: days, scope: scopes }: KeyOptions): Promise<Exit> {
  const made = await mintKey(context, await context.base(), email, { days, scopes })
  context.out.note(`Chiave ${made.id}, valida fino al ${day(made.expires_at)}: non verrà mostrata di nuovo.`)
  context.out.result(made.apiKey, made)
  return EXIT.ok
}
