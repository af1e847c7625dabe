import { dayWithArticle } from '#src/lib/day-with-article.ts'
import type { Day } from '#src/lib/time.ts'
import type { Codice, Comune, Provincia, Stato } from './types.ts'

/* The texts that responses and messages show for a code. A search for one of these texts finds the code. */

export function comuneLabel ({ descrizione, provincia, cessato_il: end }: Comune): string {
  return `${descrizione} (${provincia})${ceased(end)}`
}

export function stateLabel ({ descrizione, cessato_il: end }: Stato): string {
  return descrizione + ceased(end)
}

export function provinceLabel ({ descrizione, cessata }: Provincia): string {
  return descrizione + (cessata ? ' (cessata)' : '')
}

/** A code with its name: `412058091 ROMA (RM)`. */
export function codeLabel (row: Codice | Comune): string {
  return `${row.codice} ${row.descrizione}${'provincia' in row ? ` (${row.provincia})` : ''}`
}

function ceased (day: Day | null): string {
  return day === null ? '' : ` (cessato ${dayWithArticle('il', day)})`
}
