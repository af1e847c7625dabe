import type { FastifyInstance, FastifyReply } from 'fastify'
import { ModelloNonValido } from '#src/pdf/index.ts'
import { disconnectSignal } from '#src/http/client-disconnects.ts'
import type { StoredTemplate } from './repository.ts'

type App = Pick<FastifyInstance, 'pdf'>

interface Checked { template: string, esempio?: Record<string, unknown> | undefined }

/** Checks a template: its errors, and the variables that it uses. */
export async function checkTemplate (app: App, reply: FastifyReply, checked: Checked) {
  const { fault, variables: variabili, warnings } = await check(app, reply, checked)
  const errors = fault === null
    ? []
    : [{ riga: fault.riga, colonna: fault.colonna, codice: fault.code, messaggio: fault.message }]
  return { valid: fault === null, variabili, errors, warnings }
}

/** The variables of a template to save. @throws ModelloNonValido (400) */
export async function requireSound (app: App, reply: FastifyReply, checked: Checked): Promise<string[]> {
  const { fault, variables } = await check(app, reply, checked)
  if (fault !== null) throw new ModelloNonValido(fault)
  return variables
}

/** The variables of a stored template. Those of a built-in template are determined once and cached. */
export function variables (app: App) {
  const known = new Map<string, string[]>()
  return async (reply: FastifyReply, { id, template, variabili }: StoredTemplate): Promise<string[]> => {
    if (variabili !== null) return variabili
    const found = known.get(id) ?? (await check(app, reply, { template })).variables
    known.set(id, found)
    return found
  }
}

function check ({ pdf }: App, reply: FastifyReply, { template, esempio = undefined }: Checked) {
  const options = { caller: reply.request.principal!.id, signal: disconnectSignal(reply) }
  return pdf.check({ source: template, example: esempio ?? null }, options)
}
