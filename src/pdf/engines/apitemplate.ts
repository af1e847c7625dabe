import type { FastifyBaseLogger } from 'fastify'
import { isLoopbackHost } from '#src/lib/addresses.ts'
import { jsonOf } from '#src/services/http-exchange.ts'
import { asPdf, sendRequest, sendBillableRequest } from './engine-request.ts'
import { MotorePdfIncomprensibile, MotorePdfRifiuta } from './errors.ts'
import { marginsOf, millimetres, STYLES, type Engine, type Printed } from './printed-page.ts'

interface Settings {
  url: URL
  key: string
  log: Pick<FastifyBaseLogger, 'warn'>
  timeoutMs?: number | undefined
}

/** Minutes until the service deletes the PDF, if this client has not deleted it. */
const EXPIRATION = '5'
/** Hosts of the service. It stores its PDFs on other hosts than its API. */
const SERVICE_HOST = /(^|\.)apitemplate\.io$/

/**
 * APITemplate.io, version 2. This client sends the page as HTML, and the response contains the public URL of the PDF.
 * The client downloads the PDF at once, and deletes it from the service.
 */
export function apitemplate ({ url, key, log, timeoutMs }: Settings): Engine {
  const headers = { 'x-api-key': key, accept: 'application/json' }
  const address = (path: string, query: Record<string, string>) =>
    new URL(`${url.pathname.replace(/\/+$/, '')}${path}?${new URLSearchParams(query).toString()}`, url)

  async function remove (reference: string): Promise<void> {
    const target = address('/v2/delete-object', { transaction_ref: reference })
    await sendRequest(target, { headers, timeoutMs }).catch((err: unknown) => {
      log.warn({ err }, 'a PDF could not be deleted at the external engine, which deletes the PDF after a few minutes')
    })
  }

  return async (printed, signal) => {
    const target = address('/v2/create-pdf-from-html', { export_type: 'json', expiration: EXPIRATION })
    const made = readMade(await sendBillableRequest(target, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(printed)),
      timeoutMs,
      signal
    }))
    try {
      return asPdf(await sendRequest(downloadFrom(url, made.download), { timeoutMs, signal }))
    } finally {
      await remove(made.reference)
    }
  }
}

function bodyOf ({ html, sheet }: Printed): object {
  const [width, height] = sheet.size.map(millimetres)
  const margins = Object.entries(marginsOf(sheet)).map(([side, points]) =>
    [`margin_${side}`, String(millimetres(points))])
  return {
    body: html.body,
    css: `<style>${STYLES}</style>`,
    data: {},
    settings: {
      paper_size: 'custom',
      custom_width: `${width}mm`,
      custom_height: `${height}mm`,
      ...Object.fromEntries(margins),
      print_background: '1',
      displayHeaderFooter: html.header !== '' || html.footer !== '',
      custom_header: html.header,
      custom_footer: html.footer
    }
  }
}

/** Reads the response. The service may report an error with status 200. */
function readMade (bytes: Buffer): { download: string, reference: string } {
  const { status, download_url: download, transaction_ref: reference } = Object(jsonOf(bytes)) as
    Record<string, unknown>
  if (status === 'error') throw new MotorePdfRifiuta('status error')
  if (status !== 'success' || typeof download !== 'string' || typeof reference !== 'string') {
    throw new MotorePdfIncomprensibile()
  }
  return { download, reference }
}

/**
 * Checks the URL of a PDF against SSRF. Allows the engine's origin. If that is apitemplate.io, https subdomains are
 * allowed too.
 * @throws MotorePdfIncomprensibile for any other URL, a URL with a password, and unencrypted HTTP beyond loopback
 */
export function downloadFrom (engine: URL, text: string): URL {
  if (!URL.canParse(text)) throw new MotorePdfIncomprensibile()
  const url = new URL(text)
  const isSame = url.host === engine.host && url.protocol === engine.protocol
  const isOfTheService = url.protocol === 'https:' && url.port === '' &&
    SERVICE_HOST.test(url.hostname) && SERVICE_HOST.test(engine.hostname)
  const hasNoUser = url.username === '' && url.password === ''
  const isUnencrypted = url.protocol === 'http:' && !isLoopbackHost(url.hostname)
  if (!hasNoUser || isUnencrypted || !(isSame || isOfTheService)) throw new MotorePdfIncomprensibile()
  return url
}
