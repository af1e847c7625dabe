import type { FastifyInstance, FastifyReply } from 'fastify'
import { LOGO_BYTES_MAX } from '#schemas/establishment.ts'
import { CampiNonValidi, RisorsaNonTrovata } from '#src/lib/errors.ts'
import type { Pdf, PdfJob } from '#src/pdf/index.ts'
import type { Executor } from '#src/database/connect.ts'
import { disconnectSignal } from '#src/http/client-disconnects.ts'
import { readImage } from '#src/services/images/image-text.ts'
import { FileIlleggibile } from '#src/services/files/errors.ts'
import type { FileService, StoredFile, WrittenFile } from '#src/services/files/file-service.ts'
import { LETTERS } from './repository.ts'

export const LOGO_PATH = '/api/v1/struttura/logo'

/** The name of the logo's file without its extension, `png` or `jpg`. The database has no other record of the logo. */
const LOGO = 'struttura/logo.'
/** Maximum pixels of the longer side, because more would not be visible in print. */
const SIDE_MAX = 800
/** Maximum bytes of a re-encoded logo. */
const STORED_MAX = 16 * 1024 * 1024

const UNREADABLE = {
  codice: 'IMMAGINE_MANCANTE',
  messaggio: 'il file del logo è danneggiato o manca: la lettera è senza logo. Caricarlo di nuovo'
}

export async function findLogo (
  files: Pick<FileService, 'findByPrefix'>, db: Executor
): Promise<StoredFile | undefined> {
  const [logo] = await files.findByPrefix(db, LETTERS, LOGO)
  return logo
}

/**
 * Writes the file of a logo. The caller adds its row with `files.keep`.
 * @throws CampiNonValidi, ContenutoTroppoGrande (413), ServizioOccupato (503)
 */
export async function writeLogo (
  { images, files }: Pick<FastifyInstance, 'images' | 'files'>, reply: FastifyReply, text: string
): Promise<WrittenFile> {
  const campo = 'base64Image'
  const { id: caller } = reply.request.principal!
  const given = readImage(campo, text, LOGO_BYTES_MAX)
  const { format, bytes, contentType, extension } = await images.reencode(given, {
    campo, caller, signal: disconnectSignal(reply), sideMax: SIDE_MAX
  })
  if (format === 'webp') throw new CampiNonValidi({ campo, messaggio: 'deve essere PNG o JPEG: un PDF non ha WebP' })
  const name = LOGO + extension
  return await files.write(bytes, { bucket: LETTERS, name, contentType, owner: caller }, STORED_MAX)
}

/** The logo for a letter, if there is one. A damaged or missing file is a warning, and does not prevent the letter. */
export async function readLogo (
  files: Pick<FileService, 'findByPrefix' | 'read'>, db: Executor
): Promise<{ assets: PdfJob['assets'], warnings: Pdf['warnings'] }> {
  const logo = await findLogo(files, db)
  if (!logo) return { assets: undefined, warnings: [] }
  try {
    const pieces = await (await files.read(logo)).toArray() as Buffer[]
    const format = logo.name.endsWith('png') ? 'png' : 'jpg'
    return { assets: { logo: { data: Buffer.concat(pieces), format } }, warnings: [] }
  } catch (err) {
    // The storage has already logged the error.
    if (err instanceof FileIlleggibile) return { assets: undefined, warnings: [UNREADABLE] }
    // The file was deleted or replaced since it was found.
    if (err instanceof RisorsaNonTrovata) return await readLogo(files, db)
    throw err
  }
}
