import type { AuditEvent } from '#schemas/audit.ts'
import { ledgerSummary } from '#src/alloggiati/index.ts'
import type { Config } from '#src/config/config.ts'
import { countPeople } from '#src/identity/index.ts'
import { html, type Html } from '#src/lib/html.ts'
import { htmlPage, pagePolicy } from '#src/lib/html-page.ts'
import { VERSION } from '#src/lib/version.ts'
import { auditPage } from '#src/services/audit/list.ts'
import type { Database } from '#src/database/connect.ts'
import { countByState } from '#src/services/mail/queue.ts'

const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 70rem; margin: 0 auto; padding: 1rem; color: #222;
  background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; }
th, td { padding: .2rem .8rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } code { overflow-wrap: anywhere; }
.alarm { color: #b00020; font-weight: bold; }
@media (max-width: 40rem) {
  .actions tr { display: block; padding: .4rem 0; border-bottom: 1px solid #ddd; }
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

/** The first page for administrators: counts and alarms of the installation. */
export async function overviewPage (db: Database, mode: Config['ALLOGGIATI_MODE']): Promise<string> {
  const { people, submissions, alarms, actions } = await overview(db, mode)
  return layout('Amministrazione', html`
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
      ({ what, n }) => html`<tr${alarming && n > 0 ? ALARM : ''}><td>${what}</td><td class="n">${n}</td></tr>\n`
    )}
  </table>`
}

function layout (title: string, content: Html): string {
  const main = html`<main>\n<h1>${title}</h1>\n${content}\n</main>`
  return htmlPage({ language: 'it', title, style: STYLE, content: main })
}

const LATEST = 20

/** A count with its label. */
interface Counted { what: string, n: number }

/** The counts and alarms of the installation, without names and addresses. */
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
    countPeople(db),
    ledgerSummary(db, mode),
    countByState(db),
    auditPage(db, {}, LATEST)
  ])
  const inState = (stato: string) => ledger.states.find((row) => row.stato === stato)?.submissions ?? 0
  return {
    people: [
      { what: 'Utenti', n: people.users },
      { what: 'Sessioni attive', n: people.sessions }
    ],
    submissions: ledger.states
      .map(({ stato, description, submissions: n }) => ({ what: `${stato}: ${description}`, n }))
      .filter(({ n }) => n > 0),
    alarms: [
      { what: 'Invii di esito sconosciuto', n: inState('sconosciuto') },
      { what: 'Invii su cui una persona deve decidere', n: inState('da_verificare') },
      { what: 'Sospensioni degli invii in vigore', n: ledger.suspended ? 1 : 0 },
      { what: 'E-mail non consegnate', n: mail.fallita }
    ],
    actions
  }
}
