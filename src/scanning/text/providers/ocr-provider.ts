import type { OcrLanguage } from '#schemas/ocr.ts'

/** A request to a provider. The key is in a header, because servers log URLs. */
export interface ProviderRequest {
  headers: Record<string, string>
  body: string | FormData
}

/** The result of a response: the text, or the reason why it is missing. */
export type ProviderReading = { text: string } | { fault: ProviderFault }
export type ProviderFault = 'key' | 'quota' | 'unavailable' | 'too-large' | 'invalid'

/** The API of one provider. */
export interface OcrProvider {
  request (jpeg: Uint8Array<ArrayBuffer>, languages: readonly OcrLanguage[], key: string): ProviderRequest
  /** @param body the parsed JSON, or the raw text if it is not JSON */
  read (status: number, body: unknown): ProviderReading
}

/** The error that the status alone shows. Undefined for 200. */
export function statusFault (status: number): ProviderFault | undefined {
  if (status === 401 || status === 403) return 'key'
  if (status === 413) return 'too-large'
  if (status === 429) return 'quota'
  if (status >= 500 || (status >= 300 && status < 400)) return 'unavailable'
  return status === 200 ? undefined : 'invalid'
}

/** A field of an untrusted response. */
export function field (value: unknown, name: string | number): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[name] : undefined
}
