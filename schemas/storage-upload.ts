import { Type } from '@sinclair/typebox'

/* An upload in the storage protocol: the bytes of a file, or a form. */

/** Maximum bytes of a file without a lower bucket limit: a minute's upload over a slow line. */
export const FILE_BYTES_MAX = 50 * 1024 * 1024
const LIMIT = `al massimo ${FILE_BYTES_MAX / 1024 ** 2} MiB, o il file_size_limit del bucket`
/** Maximum characters of a file's client metadata, JSON or base64. */
export const METADATA_MAX = 4096

/**
 * The form that the handler reads part by part. It has no type, because Fastify validates null instead of an object
 * here.
 */
const FileForm = Type.Unsafe<unknown>({
  description: 'Un modulo, come quello del client di Supabase, il cui ultimo campo è il file: ciò che viene dopo non ' +
    'si legge. `curl -F cacheControl=3600 -F \'file=@piantina.png;type=image/png\' …`',
  properties: {
    cacheControl: Type.String({
      maxLength: 100,
      description: 'Per quanti secondi le cache lo tengono, o direttive di Cache-Control; conta in un bucket pubblico',
      examples: ['3600']
    }),
    contentType: Type.String({
      maxLength: METADATA_MAX, description: 'Il tipo del file; se manca, il Content-Type della sua parte'
    }),
    metadata: Type.String({
      maxLength: METADATA_MAX,
      description: `I metadati di chi carica: un oggetto JSON, al massimo ${METADATA_MAX} caratteri. Anche ` +
        '`userMetadata`',
      examples: ['{"autore":"Anna"}']
    }),
    file: {
      contentMediaType: 'application/octet-stream',
      description: `Il file, con filename: ${LIMIT}. La sua parte può avere anche un altro nome, o nessuno`
    }
  }
})

/** The bytes of a file of any type. Forms have the file in their last part. */
export const FileBody = {
  content: {
    '*/*': {
      schema: Type.Unsafe<unknown>({
        type: 'string',
        format: 'binary',
        description: `I byte del file: ${LIMIT}. Il suo tipo è Content-Type; Cache-Control conta in un bucket pubblico`
      })
    },
    'multipart/form-data': { schema: FileForm }
  }
}
