import type { AZIONI } from '#schemas/audit.ts'

/** What is written down, with the words in which it is shown. A code never changes its meaning: its rows stay. */
export const ACTIONS = {
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
  struttura_cambiata: 'Dati della struttura, o logo, cambiati',
  ripristino: 'Salvataggio ripristinato'
} as const satisfies Record<typeof AZIONI[number], string>

export type AuditAction = typeof AZIONI[number]

/** The words for a code, or a code of another version as it stands. */
export function describe (action: string): string {
  return Object.hasOwn(ACTIONS, action) ? ACTIONS[action as AuditAction] : action
}
