/** What the SQL role may do with a table beyond reading it; columns that are not named are closed. */
export interface Right {
  table: string
  insert?: readonly string[]
  update?: readonly string[]
  delete?: true
}

/**
 * Of a booking everything but what the database itself gives: an id of one's own would collide with the next booking,
 * or take the place of one that submissions still name.
 */
const BOOKING = [
  'nome_cognome', 'lingua', 'email', 'telefono', 'paese_id', 'check_in', 'check_out', 'numero_ospiti', 'idf_gen',
  'created_at', 'updated_at', 'schedine_cambiate_il', 'versione'
] as const

const GUEST = [
  'indice', 'nome', 'cognome', 'sesso', 'data_nascita', 'luogo_nascita', 'cittadinanza', 'tipo_documento',
  'numero_documento', 'luogo_rilascio', 'tipo_alloggiato', 'comune_nascita', 'provincia_nascita', 'stato_nascita'
] as const

const readOnly = (...tables: readonly string[]): readonly Right[] => tables.map((table) => ({ table }))

/**
 * Everything that the SQL role may do. What is not named here is closed: a table that a later migration adds, too.
 * Sealed columns may be read: their keys are not in the database.
 */
export const RIGHTS: readonly Right[] = [
  // No deletion: the API refuses to delete a booking whose submission is under way (`beforeDelete`), a grant cannot.
  { table: 'prenotazioni', insert: BOOKING, update: BOOKING },
  { table: 'ospiti', insert: ['prenotazione_id', ...GUEST], update: GUEST, delete: true },
  ...readOnly('prenotazioni_per_paese'),
  // The submission ledger and the receipts.
  ...readOnly(
    'invii', 'invii_schedine', 'invii_tentativi', 'invii_esiti', 'invii_transizioni_ammesse', 'invii_transizioni',
    'invii_decisioni', 'invii_sospensioni', 'invii_numerazione', 'account_polizia', 'ricevute', 'ricevute_letture',
    'invii_conferme', 'invii_correzioni', 'invii_cancellazioni', 'invii_conteggi', 'allarmi', 'codici_tabelle',
    'registro_chiave', 'registro_server', 'sandbox_schedine', 'sandbox_appartamenti'
  ),
  ...readOnly('audit_log'),
  ...readOnly('feature_flags', 'maintenance', 'jobs', 'buckets', 'objects', 'discarded_files', 'file_store'),
  ...readOnly('generated_pdfs', 'pdf_templates', 'pdf_template_versions'),
  ...readOnly('scansioni', 'lettere_benvenuto', 'struttura'),
  ...readOnly('eventi', 'eventi_in_arrivo', 'webhook_consegne', 'webhook_tentativi')
]

/** Credentials, and what becomes one: not even read. A test compares both lists with the tables that there are. */
export const CLOSED = [
  'users', 'identities', 'sessions', 'seen_sessions', 'flow_states', 'one_time_tokens', 'signing_keys', 'api_keys',
  'factors', 'factor_challenges', 'recovery_codes', 'webauthn_credentials', 'webauthn_challenges', 'admin_sessions',
  'mails', 'idempotency_keys', 'forgotten_answers', 'sandbox_token', 'counters', 'storage_keys',
  // Addresses of receivers may hold a secret.
  'webhooks'
] as const

const byTable = new Map(RIGHTS.map((right) => [right.table, right]))

/** Whether the role is meant to have a privilege; `column` is undefined for a privilege of whole tables. */
export function isMeant (table: string, privilege: string, column?: string): boolean {
  const right = byTable.get(table)
  switch (privilege) {
    case 'SELECT': return right !== undefined
    case 'INSERT': return column !== undefined && right?.insert?.includes(column) === true
    case 'UPDATE': return column !== undefined && right?.update?.includes(column) === true
    case 'DELETE': return right?.delete === true
    default: return false
  }
}
