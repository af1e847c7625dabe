import type { Context } from '../context.ts'
import { EXIT, type Exit } from '../errors.ts'
import { day } from '../instants.ts'
import { mintKey, type SignInOptions } from '../sign-in.ts'

export interface KeyOptions extends SignInOptions { giorni?: number, scope?: readonly string[] }

/** Makes a further key, for another program: shown this once and not kept. */
export async function key (context: Context, { giorni: days, scope: scopes, ...signIn }: KeyOptions): Promise<Exit> {
  const made = await mintKey(context, await context.base(), signIn, { days, scopes })
  context.out.note(`Chiave ${made.id}, valida fino al ${day(made.expires_at)}: non verrà mostrata di nuovo.`)
  context.out.result(made.apiKey, made)
  return EXIT.ok
}
