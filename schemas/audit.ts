import { Type, type Static } from '@sinclair/typebox'
import { Closed, Day, Instant, Nullable, Open, OneOf, QueryInstant, Ref, Text } from './common.ts'
import { paging } from './paging.ts'

/* The audit log: who did what, when and from where. */

/** What is written down. Each has its label in `src/plugins/audit/actions.ts`. */
export const AZIONI = [
  'accesso',
  'accesso_fallito',
  'uscita',
  'sessioni_revocate',
  'utente_creato',
  'utente_modificato',
  'utente_eliminato',
  'registrazioni_eliminate',
  'password_cambiata',
  'identita_collegata',
  'identita_scollegata',
  'fattore_registrato',
  'fattore_confermato',
  'fattore_rimosso',
  'codici_recupero',
  'passkey_registrata',
  'passkey_eliminata',
  'invito',
  'chiave_creata',
  'chiave_revocata',
  'chiave_di_firma_ruotata',
  'cookie_amministrazione',
  'invio',
  'decisione',
  'correzione',
  'sospensione',
  'prenotazioni_eliminate',
  'dati_esportati',
  'dati_cancellati',
  'immagini_scadute',
  'documento_caricato',
  'scansione_salvata',
  'scansione_eliminata',
  'scansioni_scadute',
  'immagine_profilo',
  'sql',
  'email',
  'funzione',
  'manutenzione',
  'lavoro',
  'file_caricato',
  'file_spostato',
  'file_eliminati',
  'bucket_creato',
  'bucket_modificato',
  'bucket_svuotato',
  'bucket_eliminato',
  'pdf_eliminato',
  'modello_salvato',
  'modello_eliminato',
  'lettera_eliminata',
  'struttura_cambiata',
  'webhook_creato',
  'webhook_eliminato',
  'webhook_riattivato',
  'webhook_segreto',
  'webhook_consegna',
  'webhook_prova',
  'ripristino'
] as const

const EXAMPLE = {
  id: 7,
  at: '2026-11-21T09:30:00.000Z',
  actor: 'user:0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f',
  action: 'prenotazioni_eliminate',
  descrizione: 'Prenotazioni eliminate',
  object: null,
  ip: '192.0.2.7',
  details: { ids: ['4', '7'] }
}

export const AuditEvent = Closed({
  /** As it was counted. A log that was tampered with must be readable all the same. */
  id: Type.Integer(),
  at: Instant,
  actor: Type.String({ description: 'Id di chi ha agito, anonimo o sistema' }),
  action: Type.String({ description: 'Codice dell\'azione' }),
  descrizione: Type.String(),
  object: Nullable(Type.String({ description: 'Su che cosa, per esempio invio:7' })),
  ip: Nullable(Type.String()),
  details: Open({}, { description: 'Solo id, numeri e impronte' })
}, { $id: 'EventoRegistro', examples: [EXAMPLE] })
export type AuditEvent = Static<typeof AuditEvent>

const Moment = Type.String({ ...QueryInstant, maxLength: 40 })
const Bound = (description: string) => Type.Union([Day, Moment], { description })

export const AuditQuery = Closed({
  actor: Type.Optional(Text(200, {
    minLength: 1,
    description: 'Chi ha agito, per intero: `user:` e l’id di una persona, `server`, `service`, `anonimo` o `sistema`',
    examples: ['server']
  })),
  action: Type.Optional(OneOf(AZIONI, {
    description: 'Soltanto questa azione; che cosa vuol dire lo dice `descrizione` di ogni riga'
  })),
  da: Type.Optional(Bound('Da questo istante, o dall\'inizio di questo giorno (Europe/Rome)')),
  a: Type.Optional(Bound('Fino a questo istante, o alla fine di questo giorno (Europe/Rome)')),
  ...paging
})
export type AuditQuery = Static<typeof AuditQuery>

export const AuditList = Closed({ data: Type.Array(Ref(AuditEvent)) }, { examples: [{ data: [EXAMPLE] }] })

export const AuditVerification = Closed({
  integro: Type.Boolean(),
  righe: Type.Integer(),
  prima_riga_errata: Nullable(Type.Integer({ description: 'La prima riga alterata, aggiunta o mancante' })),
  status: Type.Integer()
}, { examples: [{ integro: true, righe: 7, prima_riga_errata: null, status: 200 }] })
