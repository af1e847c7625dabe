import { parseArgs } from 'node:util'
import jwt from '@fastify/jwt'
import Fastify from 'fastify'
import { ConfigError, readConfig } from './config.ts'
import { createKeys } from './keys.ts'
import { tokenSettings } from './tokens.ts'

const ROLES: Readonly<Record<string, string>> = { operator: 'authenticated', admin: 'service_role' }

/** `npm run token -- --role operator|admin [--sub …]`: prints an access token signed with this installation's key. */
async function printToken (): Promise<void> {
  const { values } = parseArgs({ options: { role: { type: 'string', default: 'operator' }, sub: { type: 'string', default: 'cli' } } })
  const role = Object.hasOwn(ROLES, values.role) ? ROLES[values.role] : undefined
  if (role === undefined) throw new ConfigError('--role', `uno fra ${Object.keys(ROLES).join(', ')}`)
  if (values.sub === '') throw new ConfigError('--sub', 'non può essere vuoto')

  const config = readConfig(process.env)
  const app = Fastify()
  await app.register(jwt, tokenSettings(config, createKeys(config.MASTER_KEY)))
  await app.ready()
  process.stdout.write(`${app.jwt.sign({ sub: values.sub, role })}\n`)
  await app.close()
}

printToken().catch((err: unknown) => {
  process.stderr.write(`Nessun token: ${err instanceof Error ? err.message : String(err)}\n`)
  process.exitCode = 1
})
