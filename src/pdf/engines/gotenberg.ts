import { asPdf, sendBillableRequest } from './engine-request.ts'
import { inches, marginsOf, wholePage, type Engine } from './printed-page.ts'

interface Settings { url: URL, key: string | undefined, timeoutMs?: number | undefined }

/** Gotenberg 8 and later. The request is a form with page, header and footer, and the response is the PDF. */
export function gotenberg ({ url, key, timeoutMs }: Settings): Engine {
  const address = new URL(`${url.pathname.replace(/\/+$/, '')}/forms/chromium/convert/html`, url)
  return async ({ html, sheet }, signal) => {
    const form = new FormData()
    form.append('files', new Blob([wholePage(html)], { type: 'text/html' }), 'index.html')
    for (const name of ['header', 'footer'] as const) {
      if (html[name] === '') continue
      const strip = new Blob([wholePage({ ...html, body: html[name] })], { type: 'text/html' })
      form.append('files', strip, `${name}.html`)
    }
    const [width, height] = sheet.size
    const { top, right, bottom, left } = marginsOf(sheet)
    const sizes = {
      paperWidth: width, paperHeight: height, marginTop: top, marginRight: right, marginBottom: bottom, marginLeft: left
    }
    for (const [name, points] of Object.entries(sizes)) form.append(name, inches(points))
    form.append('printBackground', 'true')
    const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
    return asPdf(await sendBillableRequest(address, { method: 'POST', headers, body: form, timeoutMs, signal }))
  }
}
