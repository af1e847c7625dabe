import { field, statusFault, type OcrProvider, type ProviderFault } from './ocr-provider.ts'

/** Error codes (google.rpc.Code) that a response with status 200 may contain. */
const FAULTS: Readonly<Record<number, ProviderFault>> = {
  7: 'key', 16: 'key', 8: 'quota', 4: 'unavailable', 14: 'unavailable'
}
/** Google's reason for an unknown key, with status 400. */
const BAD_KEY = 'API_KEY_INVALID'

/**
 * Google Cloud Vision: `POST /v1/images:annotate` with `TEXT_DETECTION`.
 * https://cloud.google.com/vision/docs/reference/rest/v1/images/annotate
 */
export const googleVision: OcrProvider = {
  request: (jpeg, languages, key) => ({
    headers: { 'content-type': 'application/json', 'x-goog-api-key': key },
    body: JSON.stringify({
      requests: [{
        image: { content: Buffer.from(jpeg).toString('base64') },
        features: [{ type: 'TEXT_DETECTION' }],
        imageContext: { languageHints: languages.map((each) => each.toLowerCase()) }
      }]
    })
  }),

  read (status, body) {
    if (status === 400 && JSON.stringify(body ?? null).includes(BAD_KEY)) return { fault: 'key' }
    const fault = statusFault(status)
    if (fault) return { fault }
    const response = field(field(body, 'responses'), 0)
    const error = field(response, 'error')
    if (error !== undefined) return { fault: FAULTS[Number(field(error, 'code'))] ?? 'invalid' }
    if (typeof response !== 'object') return { fault: 'invalid' }
    // The response for an image without text has neither field.
    const text = field(field(response, 'fullTextAnnotation'), 'text') ??
      field(field(field(response, 'textAnnotations'), 0), 'description') ?? ''
    return typeof text === 'string' ? { text } : { fault: 'invalid' }
  }
}
