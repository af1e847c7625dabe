/** Maximum length of a header with warnings. Many proxies limit all headers together to 4 KiB. */
const WARNINGS_MAX = 2000

/** Warnings as JSON in ASCII, as many as fit a header. Undefined without any. */
export function warningsHeader (warnings: readonly object[]): string | undefined {
  const report = [...warnings]
  let text = inAscii(report)
  while (text.length > WARNINGS_MAX) {
    report.pop()
    text = inAscii(report)
  }
  return report.length > 0 ? text : undefined
}

function inAscii (value: unknown): string {
  return JSON.stringify(value).replace(/[^\x20-\x7e]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
