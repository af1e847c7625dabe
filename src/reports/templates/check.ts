import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ModelloNonValido } from '#src/pdf/index.ts'
import type { StoredTemplate } from './repository.ts'

type App = Pick<FastifyInstance, 'pdf'>

interface Checked { template: string, esempio?: Record<string, unknown> | undefined }

/** What is wrong with a template, and what it wants of the data. */
export async function checkTemplate (app: App, request: FastifyRequest, checked: Checked) {
  const { fault, variables: variabili, warnings } = await check(app, request, checked)
  const errors = fault === null ? [] : [{ ...place(fault), codice: fault.code, messaggio: fault.message }]
  return { valid: fault === null, variabili, errors, warnings }
}

/**
 * What a template that is to be saved wants of the data.
 * @throws ModelloNonValido (400)
 */
export async function requireSound (app: App, request: FastifyRequest, checked: Checked): Promise<string[]> {
  const { fault, variables } = await check(app, request, checked)
  if (fault !== null) throw new ModelloNonValido(fault)
  return variables
}

/** What a stored template wants of the data; of those of the product it is found out once. */
export function variables (app: App) {
  const known = new Map<string, string[]>()
  return async (request: FastifyRequest, { id, template, variabili }: StoredTemplate): Promise<string[]> => {
    if (variabili !== null) return variabili
    const found = known.get(id) ?? (await check(app, request, { template })).variables
    known.set(id, found)
    return found
  }
}

function check ({ pdf }: App, { principal, signal }: FastifyRequest, { template, esempio = undefined }: Checked) {
  return pdf.check({ source: template, example: esempio ?? null }, { caller: principal!.id, signal })
}

function place ({ riga, colonna }: { riga: number | null, colonna: number | null }) {
  return { riga, colonna }
}
