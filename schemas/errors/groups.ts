import type { ErrorCode } from './catalogue.ts'

/* Errors that several operations share. */

/** Operations that read a stored file. */
export const READING_ERRORS = ['FILE_ILLEGGIBILE', 'ARCHIVIO_NON_DISPONIBILE'] as const satisfies ErrorCode[]

/** Operations that send a stored file or a range of it. */
export const DOWNLOAD_ERRORS = ['INTERVALLO_NON_VALIDO', ...READING_ERRORS] as const satisfies ErrorCode[]

/** Operations that store an uploaded image. */
export const IMAGE_ERRORS = [
  'CONTENUTO_TROPPO_GRANDE', 'IMMAGINE_TROPPO_GRANDE', 'LAVORO_NON_RIUSCITO', 'LAVORO_TROPPO_LUNGO',
  'ARCHIVIO_NON_DISPONIBILE'
] as const satisfies ErrorCode[]

/** Operations that read the image of a document. */
export const OCR_ERRORS = [
  'CONTENUTO_TROPPO_GRANDE', 'IMMAGINE_TROPPO_GRANDE', 'LAVORO_NON_RIUSCITO', 'LAVORO_TROPPO_LUNGO',
  'OCR_NON_DISPONIBILE', 'OCR_QUOTA_ESAURITA', 'OCR_IMMAGINE_TROPPO_GRANDE', 'OCR_CREDENZIALI_RIFIUTATE',
  'OCR_RISPOSTA_NON_VALIDA'
] as const satisfies ErrorCode[]

/** Operations that check a template. */
export const TEMPLATE_ERRORS = [
  'SINTASSI_NON_VALIDA', 'ISTRUZIONE_SCONOSCIUTA', 'XML_NON_BEN_FORMATO', 'ELEMENTO_SCONOSCIUTO',
  'ELEMENTO_FUORI_POSTO', 'ATTRIBUTO_SCONOSCIUTO', 'ATTRIBUTO_MANCANTE', 'VALORE_NON_VALIDO', 'STILE_NON_AMMESSO',
  'COLLEGAMENTO_NON_AMMESSO', 'LIMITE_SUPERATO'
] as const satisfies ErrorCode[]

/** Operations that make a PDF, with any engine, and store it. */
export const PDF_ERRORS = [
  'DATI_NON_VALIDI', 'LIMITE_SUPERATO', 'LAVORO_NON_RIUSCITO', 'LAVORO_TROPPO_LUNGO', 'MOTORE_PDF_INCOMPRENSIBILE',
  'MOTORE_PDF_RIFIUTA', 'MOTORE_PDF_IRRAGGIUNGIBILE', 'MOTORE_PDF_OCCUPATO', 'MOTORE_PDF_TROPPO_LENTO',
  'ARCHIVIO_NON_DISPONIBILE'
] as const satisfies ErrorCode[]

/** Operations that call the police service. */
export const POLICE_ERRORS = [
  'CREDENZIALI_MANCANTI', 'CREDENZIALI_RIFIUTATE', 'SERVIZIO_NON_RAGGIUNGIBILE'
] as const satisfies ErrorCode[]

/** Operations that send records. */
export const SUBMISSION_ERRORS = [
  'VALIDAZIONE', ...POLICE_ERRORS, 'INVII_SOSPESI', 'CARTELLA_NON_SCRIVIBILE', 'RIFIUTATO_DAL_SERVIZIO',
  'SCHEDINE_RIFIUTATE', 'INVIO_IN_CORSO', 'NON_INVIATO', 'INVIO_ANNULLATO', 'ESITO_SCONOSCIUTO', 'SCHEDINE_GIA_INVIATE',
  'PRENOTAZIONE_CAMBIATA', 'PRENOTAZIONE_NON_CONFERMATA', 'INVIATA_CON_ALTRO_ACCOUNT'
] as const satisfies ErrorCode[]

/** Operations that make records from a booking's guests. */
export const FROM_BOOKING_ERRORS = [
  'PRENOTAZIONE_NON_TROVATA', 'OSPITI_CAMBIATI', 'OSPITI_OLTRE_LA_PRENOTAZIONE', 'NULLA_DA_INVIARE'
] as const satisfies ErrorCode[]
