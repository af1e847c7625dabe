import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '#src/config/config.ts'
import { apitemplate } from './apitemplate.ts'
import { gotenberg } from './gotenberg.ts'
import type { Engine } from './page.ts'

type Settings = Pick<Config, 'PDF_ENGINE' | 'PDF_ENGINE_URL' | 'PDF_ENGINE_KEY'>

/** The engine elsewhere that is configured; undefined: PDFs are drawn here. */
export function externalEngine (
  { PDF_ENGINE: name, PDF_ENGINE_URL: address, PDF_ENGINE_KEY: key }: Settings,
  log: FastifyBaseLogger,
  patienceMs?: number
): Engine | undefined {
  if (name === undefined || address === undefined) return undefined
  const url = new URL(address)
  return name === 'gotenberg'
    ? gotenberg({ url, key, patienceMs })
    : apitemplate({ url, key: key!, log, patienceMs })
}
