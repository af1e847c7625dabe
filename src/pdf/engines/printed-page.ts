import { escape, type HtmlDocument } from '../html/to-html.ts'
import type { Sheet } from '../layout/sheet.ts'

/** The input of an external engine. */
export interface Printed { html: HtmlDocument, sheet: Sheet }

/** @returns the PDF */
export type Engine = (printed: Printed, signal?: AbortSignal) => Promise<Buffer>

const POINTS_PER_INCH = 72
const MM_PER_POINT = 25.4 / POINTS_PER_INCH

/** The margins in points. The top and bottom margins include header and footer. */
export function marginsOf ({ margin, headerHeight, footerHeight }: Sheet) {
  return { top: margin + headerHeight, right: margin, bottom: margin + footerHeight, left: margin }
}

/** Points as inches with four decimals (`8.2678`). */
export function inches (points: number): string {
  return (points / POINTS_PER_INCH).toFixed(4)
}

export function millimetres (points: number): number {
  return Math.round(points * MM_PER_POINT * 100) / 100
}

/** A complete page. It loads nothing: images are embedded, and there are no scripts. Only links contain URLs. */
export function wholePage ({ title, language, body }: HtmlDocument): string {
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${escape(title)}</title>` +
    `<style>${STYLES}</style></head><body>${body}</body></html>`
}

/** Resets browser defaults that differ from React-PDF, such as the margins of the page. */
export const STYLES = 'html,body{margin:0;padding:0}*{box-sizing:border-box}th{text-align:left;font-weight:inherit}'
