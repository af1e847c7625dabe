import type { AuditEvent } from '#schemas/audit.ts'
import { ledgerSummary } from '#src/alloggiati/index.ts'
import type { Config } from '#src/config/config.ts'
import { countUsersAndSessions } from '#src/identity/index.ts'
import { html, type Html } from '#src/lib/html.ts'
import { htmlPage, pagePolicy } from '#src/lib/html-page.ts'
import { VERSION } from '#src/lib/version.ts'
import { auditPage } from '#src/services/audit/list.ts'
import type { Database } from '#src/database/connect.ts'
import { countByState } from '#src/services/mail/queue.ts'

/** The page has the colours and the bar of the desk. */
const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#e3e1da, #2e3839); --green: light-dark(#1f4e46, #7fc4b4); }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; color: light-dark(#1d2625, #e8ece9);
  background: light-dark(#faf9f6, #14191a); }
main { max-width: 70rem; margin: 0 auto; padding: 1rem; } a { color: var(--green); }
nav { display: flex; gap: .25rem; overflow-x: auto; padding: 0 1.5rem; background: light-dark(#fff, #1c2324);
  border-bottom: 1px solid var(--line); }
nav a { padding: 0 .5rem; line-height: 3.5rem; white-space: nowrap; text-decoration: none;
  color: light-dark(#5c6764, #a3afab); }
nav a[aria-current] { color: inherit; box-shadow: inset 0 -3px var(--green); }
:focus-visible { outline: 3px solid light-dark(#9a4a00, #f0b26b); outline-offset: -3px; }
ul { margin: 0; padding: 0; list-style: none; } li a { display: inline-block; line-height: 2.75rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; }
th, td { padding: .2rem .8rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } code { overflow-wrap: anywhere; }
.alarm { color: light-dark(#b00020, #f0b26b); font-weight: bold; }
@media (max-width: 40rem) {
  .actions tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  .actions th { display: none; } .actions td { display: block; padding: 0; border: 0; }
  .actions td.n { text-align: left; } .actions td.n::before { content: "N. "; }
  .actions td:nth-child(4)::before { content: "Chi: "; } .actions td:nth-child(5)::before { content: "Su: "; }
  .actions td:has(code:empty) { display: none; }
}
`

/** The page has no scripts, images, forms or frames. */
export const PAGE_POLICY = pagePolicy(STYLE)

const ALARM = html` class="alarm"`

const IN_ROME = new Intl.DateTimeFormat('it-IT', {
  timeZone: 'Europe/Rome',
  day: '2-digit',
  month: '2-digit',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit'
})

/** The first page for administrators: counts, alarms and latest actions of the installation. */
export async function overviewPage (
  db: Database, mode: Config['ALLOGGIATI_MODE'], screens: readonly Screen[]
): Promise<string> {
  const { people, submissions, alarms, actions } = await overview(db, mode)
  return layout('Amministrazione', screens, html`
<p>Versione ${VERSION} · Alloggiati Web: <strong>${mode === 'production' ? 'produzione' : 'sandbox'}</strong></p>
<h2>Persone</h2>
${counts(people)}
<h2>Invii alla Polizia</h2>
${submissions.length > 0 ? counts(submissions) : html`<p>Nessun invio.</p>`}
<h2>Allarmi aperti</h2>
${alarms.some(({ n }) => n > 0) ? counts(alarms, true) : html`<p>Nessuno.</p>`}
<h2>Ultime azioni</h2>
<table class="actions">
<tr><th>N.</th><th>Quando</th><th>Azione</th><th>Chi</th><th>Su che cosa</th></tr>
${actions.map(row)}</table>
<h2>Altro</h2>
<ul>
<li><a href="/docs">Documentazione delle API</a></li>
<li><a href="/openapi.json">Descrizione OpenAPI</a></li>
<li><a href="/health/ready">Stato del servizio</a></li>
</ul>`)
}

function row ({ id, at, descrizione, actor, object }: AuditEvent): Html {
  const when = html`<time datetime="${at}">${IN_ROME.format(new Date(at))}</time>`
  return html`<tr>
    <td class="n">${id}</td>
    <td>${when}</td>
    <td>${descrizione}</td>
    <td><code>${actor}</code></td>
    <td><code>${object ?? ''}</code></td>
  </tr> `
}

function counts (rows: readonly Counted[], alarming = false): Html {
  return html`<table>
    ${rows.map(
      ({ label, n }) => html`<tr${alarming && n > 0 ? ALARM : ''}><td>${label}</td><td class="n">${n}</td></tr>\n`
    )}
  </table>`
}

/** A screen of the desk. With an external identity provider the desk has none. */
interface Screen { path: string, name: string }

const SETTINGS = '/impostazioni'

function layout (title: string, screens: readonly Screen[], content: Html): string {
  const links = screens.map(({ path, name }) => html`<a href="${path}"${
    path === SETTINGS ? html` aria-current="true"` : ''}>${name}</a>\n`)
  const bar = screens.length === 0 ? '' : html`<nav aria-label="Principale">\n${links}</nav>\n`
  const main = html`${bar}<main>\n<h1>${title}</h1>\n${content}\n</main>`
  return htmlPage({ language: 'it', title, style: STYLE, content: main })
}

const LATEST = 20

interface Counted { label: string, n: number }

/** The counts, alarms and latest actions of the installation. */
interface Overview {
  people: Counted[]
  /** Submissions of the current mode, by state. States without submissions are left out. */
  submissions: Counted[]
  /** Problems that need a person. */
  alarms: Counted[]
  actions: AuditEvent[]
}

async function overview (db: Database, mode: Config['ALLOGGIATI_MODE']): Promise<Overview> {
  const [people, ledger, mail, { data: actions }] = await Promise.all([
    countUsersAndSessions(db),
    ledgerSummary(db, mode),
    countByState(db),
    auditPage(db, {}, LATEST)
  ])
  const inState = (stato: string) => ledger.states.find((row) => row.stato === stato)?.submissions ?? 0
  return {
    people: [
      { label: 'Utenti', n: people.users },
      { label: 'Sessioni attive', n: people.sessions }
    ],
    submissions: ledger.states
      .map(({ stato, description, submissions: n }) => ({ label: `${stato}: ${description}`, n }))
      .filter(({ n }) => n > 0),
    alarms: [
      { label: 'Invii di esito sconosciuto', n: inState('sconosciuto') },
      { label: 'Invii su cui una persona deve decidere', n: inState('da_verificare') },
      { label: 'Sospensioni degli invii in vigore', n: ledger.suspended ? 1 : 0 },
      { label: 'E-mail non consegnate', n: mail.fallita }
    ],
    actions
  }
}
