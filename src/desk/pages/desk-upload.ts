import { finished } from 'node:stream'
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fileForm as readerOf } from '#src/http/file-form.ts'
import { requireVisitor, type RouteCall, type Visitor } from '#src/identity/index.ts'
import { limitConcurrency } from '#src/lib/concurrency-limit.ts'

/** Maximum fields of a form besides its file. */
const FIELDS = 8
/** Maximum characters of a title that a file's name gives. */
const TITLE_MAX = 100

/** Maximum bytes of files until the response, in total and per person. In memory they take several times as much. */
const HELD = { total: 48 * 1024 * 1024, perCaller: 32 * 1024 * 1024 }

const files = new WeakMap<FastifyRequest, { bytes: Buffer, name: string }>()

/**
 * Accepts forms with one file, in the field `file`, in this scope. The other fields are in `request.body`, as in every
 * form. A person who is signed out gets the sign-in page before the server reads the body.
 * @param bytesMax maximum size of the file
 * @param requirePermission returns the person who uploads. Throws for a visitor who may not upload
 */
export async function acceptUploads (
  app: FastifyInstance,
  bytesMax: number,
  requirePermission: (request: FastifyRequest, reply: FastifyReply) => Promise<Visitor> = (request) =>
    requireVisitor(request)
): Promise<void> {
  const form = readerOf(bytesMax, { fields: FIELDS })
  const takeBytes = limitConcurrency(HELD)
  await app.register(multipart, { limits: form.limits })
  app.addHook('preValidation', async (request, reply) => {
    if (!request.isMultipart()) return
    const { user } = await requirePermission(request, reply)
    const length = Number(request.headers['content-length'])
    finished(reply.raw, await takeBytes(user.id, length < bytesMax ? length : bytesMax))
    const name = await form.read(request) ?? ''
    const { file, ...values } = request.body as { file?: Buffer }
    // A browser sends an empty file when the person has chosen none.
    if (file !== undefined && file.length > 0) files.set(request, { bytes: file, name })
    request.body = values
  })
}

/** The file of a form, or undefined when the person has chosen none. */
export function uploadedFile (request: FastifyRequest): Buffer | undefined {
  return files.get(request)?.bytes
}

/** The name of the file without its extension, as a title. */
export function uploadedTitle (request: FastifyRequest): string | undefined {
  const name = files.get(request)?.name.replace(/\.\w*$/, '').replaceAll(/\p{C}/gu, '')
  return name && [...name].slice(0, TITLE_MAX).join('')
}

/** A form with these fields and this file, as the body of a call of a route. Empty fields are left out. */
export async function fileForm (
  fields: Readonly<Record<string, string | undefined>>, file: Buffer | undefined
): Promise<Pick<RouteCall, 'payload'> & { headers: Record<string, string> }> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined && value !== '') form.set(name, value)
  if (file !== undefined) form.set('file', new Blob([new Uint8Array(file)]))
  const encoded = new Response(form)
  const type = encoded.headers.get('content-type') ?? ''
  return { payload: Buffer.from(await encoded.arrayBuffer()), headers: { 'content-type': type } }
}
