import { createHash } from 'node:crypto'
import { addDays, italianDay, type Day } from '#src/lib/time.ts'
import type { DayTotals } from './sandbox-store.ts'

/** An invented establishment. */
const ESTABLISHMENT = [
  'CATEGORIA BED AND BREAKFAST',
  'STRUTTURA LOCANDA DI PROVA',
  'COMUNE ROMA (RM)',
  "INDIRIZZO VIA DELL'ESEMPIO, 1",
  'P.IVA-C.F. 00000000000'
]

/**
 * Draws the receipt of one day: a one-page PDF with the lines of a real receipt, and a mark that it is not valid.
 * Deterministic: the same account, day and totals give the same bytes on every instance.
 */
export async function drawReceipt (utente: string, giorno: Day, totals: DayTotals): Promise<Buffer> {
  // Loaded on the first receipt, because the renderer takes more memory than the rest of the sandbox.
  const [{ createElement }, { Document, Page, Text, renderToBuffer }] = await Promise.all([
    import('react'),
    import('@react-pdf/renderer')
  ])
  const line = (text: string, index: number) => createElement(Text, { key: index, style: { marginBottom: 8 } }, text)
  // Helvetica is built into PDF readers, so no font is read or downloaded. It covers ASCII, which is enough here.
  return await renderToBuffer(createElement(
    Document,
    { title: 'Ricevuta di prova', language: 'it', creationDate: drawnOn(giorno), modificationDate: drawnOn(giorno) },
    createElement(
      Page,
      { size: 'A4', style: { padding: 56, fontFamily: 'Helvetica', fontSize: 11 } },
      createElement(
        Text,
        { style: { marginBottom: 24, color: '#b00020', fontSize: 14 } },
        'AMBIENTE DI PROVA - SENZA VALORE'
      ),
      receiptLines(utente, giorno, totals).map(line)
    )
  ))
}

function receiptLines (utente: string, giorno: Day, { schedine, notti, numero }: DayTotals): string[] {
  return [
    'RICEVUTA DI INVIO',
    `LOGIN ${utente.replace(/[^\x20-\x7e]/g, '?')}`,
    ...ESTABLISHMENT,
    `ID. RICEVUTA ${giorno.slice(0, 4)}/${String(numero).padStart(6, '0')} [RM]`,
    `DATA DI INVIO ${italianDay(giorno)}`,
    `SCHEDINE INVIATE ${schedine}`,
    `GG PERMANENZA PRESUNTA TOT. ${notti}`,
    'ALLA QUESTURA DI ROMA',
    `Codice di Controllo ${controlCode([utente, giorno, schedine, notti, numero].join(' '))}`
  ]
}

/** The creation time in the metadata of the PDF: midnight (UTC) of the next day. */
function drawnOn (giorno: Day): Date {
  return new Date(`${addDays(giorno, 1)}T00:00:00Z`)
}

function controlCode (text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24).toUpperCase()
}
