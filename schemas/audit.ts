import { Type, type Static } from '@sinclair/typebox'
import { Closed, Day, Instant, Nullable, Open, OneOf, QueryInstant, Ref, Text } from './common.ts'
import { paging } from './paging.ts'

/* The audit log: who did what, when and from where. */

/** The logged actions with their labels. A code never changes its meaning, because its rows stay. */
export const AUDIT_ACTIONS = {
  accesso: 'Accesso',
  accesso_fallito: 'Accesso non riuscito',
  uscita: 'Uscita',
  sessioni_revocate: 'Sessioni revocate',
  utente_creato: 'Utente creato',
  utente_modificato: 'Utente modificato',
  utente_eliminato: 'Utente eliminato',
  registrazioni_eliminate: 'Registrazioni mai confermate eliminate',
  password_cambiata: 'Password cambiata',
  identita_collegata: 'Identità esterna collegata',
  identita_scollegata: 'Identità esterna scollegata',
  fattore_registrato: 'Secondo fattore registrato, da confermare',
  fattore_confermato: 'Secondo fattore confermato',
  fattore_rimosso: 'Secondo fattore rimosso',
  codici_recupero: 'Codici di recupero creati',
  passkey_registrata: 'Passkey registrata',
  passkey_eliminata: 'Passkey eliminata',
  invito: 'Invito',
  chiave_creata: 'Chiave API creata',
  chiave_revocata: 'Chiave API revocata',
  chiave_di_firma_ruotata: 'Chiave di firma ruotata',
  cookie_amministrazione: 'Cookie di amministrazione concesso',
  invio: 'Invio alla Polizia',
  decisione: 'Decisione su un invio',
  correzione: 'Correzione chiesta alla Questura',
  sospensione: 'Invii sospesi o ripresi',
  prenotazioni_eliminate: 'Prenotazioni eliminate',
  dati_esportati: 'Dati di una prenotazione esportati',
  dati_cancellati: 'Dati di una prenotazione cancellati',
  immagini_scadute: 'Immagini di documenti eliminate alla scadenza',
  documento_caricato: 'Immagine di un documento caricata',
  documento_letto: 'Immagine di un documento letta',
  documento_collegato: 'Link all’immagine di un documento creato',
  scansione_salvata: 'Scansione di un documento salvata',
  scansione_eliminata: 'Scansione di un documento eliminata',
  scansioni_scadute: 'Scansioni di documenti eliminate alla scadenza',
  immagine_profilo: 'Immagine del profilo cambiata',
  sql: 'Istruzione SQL',
  email: 'E-mail',
  funzione: 'Funzione accesa o spenta',
  manutenzione: 'Manutenzione',
  lavoro: 'Lavoro periodico avviato a mano',
  file_caricato: 'File caricato',
  file_spostato: 'File spostato',
  file_eliminati: 'File eliminati',
  bucket_creato: 'Bucket creato',
  bucket_modificato: 'Bucket modificato',
  bucket_svuotato: 'Bucket svuotato',
  bucket_eliminato: 'Bucket eliminato',
  pdf_eliminato: 'PDF eliminato',
  modello_salvato: 'Modello di PDF salvato',
  modello_eliminato: 'Modello di PDF eliminato',
  lettera_eliminata: 'Lettera di benvenuto eliminata',
  account_polizia: 'Account della Polizia di una struttura salvato',
  account_polizia_eliminato: 'Account della Polizia di una struttura eliminato',
  struttura_creata: 'Struttura creata',
  struttura_eliminata: 'Struttura eliminata',
  struttura_cambiata: 'Dati della struttura, o logo, cambiati',
  webhook_creato: 'Webhook creato',
  webhook_eliminato: 'Webhook eliminato',
  webhook_riattivato: 'Webhook riattivato',
  webhook_segreto: 'Segreto di un webhook letto o cambiato',
  webhook_consegna: 'Consegna a un webhook ripetuta a mano',
  webhook_prova: 'Evento di prova a un webhook',
  ripristino: 'Salvataggio ripristinato'
} as const
export type AuditAction = keyof typeof AUDIT_ACTIONS
const AZIONI = Object.keys(AUDIT_ACTIONS) as AuditAction[]

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
  /** As stored, without bounds, so that a log that was tampered with stays readable. */
  id: Type.Integer(),
  at: Instant,
  actor: Type.String({ description: 'Id di chi ha agito, anonimo o sistema' }),
  action: Type.String({ description: 'Codice dell’azione' }),
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
  da: Type.Optional(Bound('Da questo istante, o dall’inizio di questo giorno (Europe/Rome)')),
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
