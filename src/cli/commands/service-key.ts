import type { Context } from '../context.ts'
import { EXIT, type Exit } from '../errors.ts'
import { serverEnvironment } from '../server-environment.ts'

/**
 * The key of the server whose environment this is, with all rights. No server is asked: a person who can read the
 * server's secrets can make it.
 */
export async function printServiceKey ({ terminal: { env }, out }: Context): Promise<Exit> {
  const { ownServiceKey } = await serverEnvironment(env)
  out.note('Questa chiave ha tutti i diritti e non si può revocare: tenerla segreta.')
  out.result(ownServiceKey, { serviceKey: ownServiceKey })
  return EXIT.ok
}
