import { parseArgs } from 'node:util'
import jwt from '@fastify/jwt'
import Fastify from 'fastify'
import { readConfig } from './config.ts'
import { createKeys } from './keys.ts'
import { tokenSettings } from './tokens.ts'

/** `npm run token -- --role operator|admin [--sub …]`: prints an access token signed with this installation's key. */
const ROLES: Readonly<Record<string, string>> = { operator: 'authenticated', admin: 'service_role' }

const { values } = parseArgs({ options: { role: { type: 'string', default: 'operator' }, sub: { type: 'string', default: 'cli' } } })
const role = ROLES[values.role]
if (role === undefined) {
  process.stderr.write(`--role: uno fra ${Object.keys(ROLES).join(', ')}\n`)
  process.exit(1)
}

const config = readConfig(process.env)
const app = Fastify()
await app.register(jwt, tokenSettings(config, createKeys(config.MASTER_KEY)))
await app.ready()
process.stdout.write(`${app.jwt.sign({ sub: values.sub, role })}\n`)
await app.close()
