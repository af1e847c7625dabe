import { ERROR_SUBJECTS } from '#schemas/errors/catalogue.ts'
import type { ErrorEntry, ErrorSubject } from '#schemas/errors/entry.ts'
import { html, type Html } from '#src/lib/html.ts'
import { htmlPage, pagePolicy } from '#src/lib/html-page.ts'

const STYLE = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 0 auto; padding: 1rem; color: #222;
  background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 0; overflow-wrap: anywhere; } p { margin: .2rem 0; } a { color: #1d5f4e; }
@media (prefers-color-scheme: dark) { body { color: #e4e4e4; background: #181a1b; } a { color: #8fd3bf; } }
`

export const ERRORS_PAGE_POLICY = pagePolicy(STYLE)

/** Page of all error codes with status, cause and remedy. Each code has an anchor. */
export function errorsPage (): string {
  const content = html`<main>
<h1>Gli errori, uno per uno</h1>
<p>Una risposta di errore ha <code>status</code>, un testo per chi legge in <code>error</code>, e in
<code>codice</code> un nome per i programmi, che non cambia. Questa pagina spiega ogni codice. Gli indirizzi
<code>/auth/v1</code> e <code>/storage/v1</code> rispondono con gli errori dei loro protocolli.</p>
<p><a href="/docs">Tutte le operazioni</a></p>
${ERROR_SUBJECTS.map(subject)}
</main>`
  return htmlPage({ language: 'it', title: 'Errori', style: STYLE, content })
}

function subject ({ title, errors }: ErrorSubject): Html {
  return html`<section>
<h2>${title}</h2>
${Object.entries(errors).map(entry)}</section>
`
}

function entry ([codice, { statuses, cause, remedy }]: [string, ErrorEntry]): Html {
  return html`<h3 id="${codice}"><code>${codice}</code> · ${statuses.join(', ')}</h3>
<p>${withCode(cause)}</p>
<p>${withCode(remedy)}</p>
`
}

/** Renders text in backticks as code. */
function withCode (text: string): Html[] {
  return text.split('`').map((part, at) => at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`)
}
