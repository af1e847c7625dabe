import type { OcrLanguage } from '#schemas/ocr.ts'
import { field, statusFault, type OcrProvider } from './ocr-provider.ts'

const LANGUAGES: Readonly<Record<OcrLanguage, string>> = { IT: 'ita', EN: 'eng', DE: 'ger', FR: 'fre' }
/** Values of `OCRExitCode` when all or some pages were read. */
const READ = [1, 2]
const TOO_MANY = /limit|maximum.*(reached|exceed)|too many/i
/** Errors about the image. Example: "File failed validation. File size exceeds the maximum size limit". */
const TOO_LARGE = /\bsize\b.*(limit|exceed)|too (large|big)|exceeds.*\bsize\b/i
const TIMED_OUT = /timed? ?out/i

/** OCR.space: `POST /parse/image`. A request names only one language. https://ocr.space/OCRAPI */
export const ocrSpace: OcrProvider = {
  request (jpeg, [language], key) {
    const body = new FormData()
    body.set('file', new Blob([jpeg], { type: 'image/jpeg' }), 'documento.jpg')
    body.set('language', LANGUAGES[language!])
    body.set('detectOrientation', 'true')
    body.set('OCREngine', '1')
    return { headers: { apikey: key }, body }
  },

  read (status, body) {
    const message = [field(body, 'ErrorMessage') ?? (typeof body === 'string' ? body : '')].flat().join(' ')
    if (TOO_LARGE.test(message)) return { fault: 'too-large' }
    // An exceeded quota may also have status 403.
    if (TOO_MANY.test(message)) return { fault: 'quota' }
    const fault = statusFault(status)
    if (fault) return { fault }
    if (TIMED_OUT.test(message)) return { fault: 'unavailable' }
    if (!READ.includes(Number(field(body, 'OCRExitCode')))) return { fault: 'invalid' }
    const pages = field(body, 'ParsedResults')
    if (!Array.isArray(pages)) return { fault: 'invalid' }
    return { text: pages.map((page) => String(field(page, 'ParsedText') ?? '').replaceAll('\r\n', '\n')).join('\n') }
  }
}
