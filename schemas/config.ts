import { Type, type Static } from '@sinclair/typebox'
import { OneOf } from './common.ts'

const HTTP_URL = '^https?://[^\\s]+$'
const optional = (pattern?: string, description?: string) =>
  Type.Optional(Type.String({ minLength: 1, ...(pattern ? { pattern } : {}), ...(description ? { description } : {}) }))
const secret = (description: string) => optional(undefined, description)

/** OCR providers whose protocols we support. */
const OCR_PROVIDERS = ['google-vision', 'ocr-space'] as const
export type OcrProviderName = (typeof OCR_PROVIDERS)[number]

/**
 * The environment: every variable of the server. env-schema supports no formats, so patterns replace them.
 * `src/config/checks.ts` checks rules across variables.
 */
export const Environment = Type.Object({
  PORT: Type.Integer({ minimum: 0, maximum: 65_535, default: 3000, description: 'Porta di ascolto (0: una libera)' }),
  HOST: Type.String({ minLength: 1, default: '127.0.0.1', description: 'Indirizzo di ascolto' }),
  DRAIN_SECONDS: Type.Integer({
    minimum: 0,
    maximum: 300,
    default: 0,
    description: 'Secondi in cui, all’arresto, il server risponde ancora finché il proxy passa ad altri; 0: nessuno'
  }),
  PUBLIC_URL: optional(HTTP_URL, 'URL pubblico del servizio; senza, http://HOST:PORT'),
  DATA_DIR: Type.String({
    minLength: 1,
    default: './data',
    description: 'Cartella dei dati: database incorporato, chiavi, file'
  }),
  DISK_RESERVE_MIB: Type.Optional(Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'MiB del disco di DATA_DIR che i file caricati lasciano liberi; senza, il 10 % e almeno 1024'
  })),
  DATABASE_URL: optional('^postgres(ql)?://[^\\s]+$', 'Un PostgreSQL (14 o successivo) al posto di quello incorporato'),
  REDIS_URL: optional('^rediss?://[^\\s]+$', 'Un Redis, per condividere i contatori del rate limit fra più processi'),

  S3_ENDPOINT: optional(HTTP_URL, 'Archivio S3 per i file; senza, file in DATA_DIR'),
  S3_BUCKET: optional('^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$', 'Bucket S3, vuoto all’inizio e di questo server soltanto'),
  S3_REGION: optional('^[a-zA-Z0-9-]+$', 'Regione S3; senza, us-east-1'),
  S3_ACCESS_KEY_ID: secret('Chiave S3'),
  S3_SECRET_ACCESS_KEY: secret('Segreto S3'),

  BACKUP_DIR: optional(undefined, 'Cartella, che c’è già, dei salvataggi notturni. Serve BACKUP_PASSPHRASE'),
  BACKUP_PASSPHRASE: Type.Optional(
    Type.String({ minLength: 12, maxLength: 200, description: 'Con che cosa si cifrano i salvataggi' })
  ),

  MASTER_KEY: optional(
    '^[A-Za-z0-9+/]{43}=$',
    '32 byte in base64, da cui derivano tutti gli altri segreti; generata in DATA_DIR se manca'
  ),
  API_KEY: Type.Optional(
    Type.String({
      minLength: 16,
      maxLength: 200,
      description: 'Chiave API del server: autenticata, non amministratrice'
    })
  ),
  ADMIN_EMAIL: optional('^[^@\\s]+@[^@\\s]+$', 'Primo amministratore'),
  ADMIN_PASSWORD: Type.Optional(
    Type.String({ minLength: 8, maxLength: 128, description: 'Password del primo amministratore' })
  ),

  SIGNUP_ENABLED: Type.Boolean({
    default: false,
    description:
      'Chiunque può registrarsi; resta in attesa finché un amministratore non gli dà un ruolo. Serve SMTP_URL'
  }),
  OAUTH_PROVIDERS: optional(
    undefined,
    'Provider per l’accesso con OAuth: JSON, un elenco di {name, client_id, client_secret, issuer}; ' +
      'github non ha issuer'
  ),

  REQUIRE_MFA: OneOf(['none', 'admin', 'all'], {
    default: 'none',
    description: 'Chi deve avere un secondo fattore: nessuno, gli amministratori o tutti. Chi ne ha uno lo usa sempre'
  }),
  PASSKEY_DOMAIN: optional(
    '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$',
    'Dominio a cui appartengono le passkey; senza, quello di PUBLIC_URL. Un indirizzo IP non ne ha'
  ),
  REQUIRE_RECENT_MFA: Type.Boolean({
    default: false,
    description:
      'Decisioni sugli invii, chiavi, utenti, manutenzione e SQL richiedono un secondo fattore negli ultimi 15 minuti'
  }),

  IDP_URL: optional(HTTP_URL, 'Provider di identità esterno'),
  IDP_JWT_SECRET: secret('Segreto condiviso dei token del provider esterno'),
  IDP_ANON_KEY: secret('Chiave anonima del provider esterno'),
  IDP_SERVICE_KEY: secret('Chiave di servizio del provider esterno'),

  ALLOGGIATI_MODE: Type.Optional(
    OneOf(['sandbox', 'production'], { description: 'sandbox (predefinita senza credenziali) o production' })
  ),
  ALLOGGIATI_ENDPOINT: optional(HTTP_URL, 'Indirizzo del servizio SOAP (https, o http su loopback)'),
  ALLOGGIATI_UTENTE: secret('Utente Alloggiati Web'),
  ALLOGGIATI_PASSWORD: secret('Password Alloggiati Web'),
  ALLOGGIATI_WSKEY: secret('Chiave Web Service'),
  ALLOGGIATI_CA_FILE: optional(undefined, 'File PEM con la catena di certificati del servizio'),
  ERASE_AFTER_DAYS: Type.Integer({
    minimum: 1,
    maximum: 3650,
    default: 30,
    description: 'Giorni fra la fine di un invio e la cancellazione delle sue schedine cifrate; le ricevute restano'
  }),
  IMAGE_RETENTION_DAYS: Type.Integer({
    minimum: 0,
    maximum: 3650,
    default: 7,
    description: 'Giorni fra la ricevuta che copre un ospite e l’eliminazione delle immagini dei suoi documenti'
  }),
  IMAGE_SIDE_MAX: Type.Integer({
    minimum: 1500,
    maximum: 6000,
    default: 4096,
    description: 'Pixel del lato più lungo di un’immagine conservata; le più grandi si riducono'
  }),

  SMTP_URL: optional('^smtps?://[^\\s]+$', 'Server SMTP'),
  MAIL_FROM: optional(undefined, 'Mittente delle e-mail'),
  ALARM_EMAIL: optional(
    undefined,
    'A chi vanno gli allarmi degli invii alla Polizia e il riepilogo della sera: indirizzi separati da virgola. ' +
      'Serve SMTP_URL'
  ),
  WEBHOOKS_TO_LOOPBACK: Type.Boolean({
    default: false,
    description: 'I webhook possono stare anche su questa macchina, e allora in http; per prove e programmi vicini'
  }),
  PDF_ENGINE: Type.Optional(OneOf(['apitemplate', 'gotenberg'], {
    description: 'Chi disegna i PDF al posto di questo server: apitemplate o gotenberg. Serve PDF_ENGINE_URL'
  })),
  PDF_ENGINE_URL: optional(HTTP_URL, 'Motore di rendering PDF esterno (https, o http su loopback)'),
  PDF_ENGINE_KEY: secret('Chiave del motore PDF'),
  OCR_PROVIDER: Type.Optional(
    OneOf(OCR_PROVIDERS, { description: 'Chi legge il testo delle immagini; senza, questo server' })
  ),
  OCR_PROVIDER_URL: optional(HTTP_URL, 'Indirizzo del provider OCR (https, o http su loopback)'),
  OCR_PROVIDER_KEY: secret('Chiave del provider OCR'),

  QUERY_PASSWORD: Type.Optional(
    Type.String({
      minLength: 12,
      maxLength: 200,
      description: 'Password di /api/querysql; senza, la console SQL è spenta'
    })
  ),
  TRUST_PROXY: optional('^[0-9a-fA-F.:/, ]+$', 'CIDR dei proxy fidati, separati da virgola'),
  CORS_ORIGINS: optional(undefined, 'Origini CORS ammesse, separate da virgola'),
  REDIRECT_URLS: optional(
    undefined,
    'Altri indirizzi a cui si può tornare dopo un accesso, separati da virgola, anche di applicazioni (schema proprio)'
  ),
  RATE_LIMIT_MAX: Type.Integer({
    minimum: 1,
    default: 300,
    description: 'Richieste per finestra e credenziale (o indirizzo)'
  }),
  RATE_LIMIT_LOGIN_MAX: Type.Integer({
    minimum: 1,
    default: 10,
    description: 'Accessi per finestra, account e indirizzo'
  }),
  RATE_LIMIT_HEAVY_MAX: Type.Integer({ minimum: 1, default: 60, description: 'OCR e PDF per finestra' }),
  RATE_LIMIT_WINDOW: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 60,
    description: 'Finestra del rate limit, in secondi'
  }),
  OVERLOAD_AFTER_MS: Type.Integer({
    minimum: 100,
    default: 2000,
    description: 'Ritardo del ciclo di eventi, in millisecondi, oltre il quale le richieste ricevono 503'
  }),
  LOG_LEVEL: OneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    default: 'info',
    description: 'Livello dei log'
  }),
  HOSTING_DEPLOY: optional(undefined, 'Nome del deploy mostrato da /api/version'),
  TODAY: optional('^\\d{4}-\\d{2}-\\d{2}$', 'Giorno fisso per test e dimostrazioni; rifiutato in production')
})
export type Environment = Static<typeof Environment>

const WEB = 'deve essere un indirizzo http:// o https://'

/** Italian explanations of the variables' patterns. */
export const FORMS: Readonly<Record<string, string>> = {
  PUBLIC_URL: WEB,
  S3_ENDPOINT: WEB,
  S3_BUCKET: 'deve avere da 3 a 63 fra lettere minuscole, cifre, punti e trattini',
  S3_REGION: 'può avere solo lettere, cifre e trattini',
  IDP_URL: WEB,
  ALLOGGIATI_ENDPOINT: WEB,
  PDF_ENGINE_URL: WEB,
  OCR_PROVIDER_URL: WEB,
  PASSKEY_DOMAIN: 'deve essere un nome di dominio, in minuscolo',
  DATABASE_URL: 'deve essere l’indirizzo completo di un PostgreSQL (schema postgres)',
  REDIS_URL: 'deve essere l’indirizzo completo di un Redis (schema redis o rediss)',
  MASTER_KEY: 'deve contenere 32 byte in base64 (44 caratteri)',
  ADMIN_EMAIL: 'deve essere un indirizzo e-mail',
  SMTP_URL: 'deve essere l’indirizzo di un server di posta (schema smtp o smtps)',
  TRUST_PROXY: 'deve essere un elenco di indirizzi o CIDR, separati da virgola',
  TODAY: 'deve essere un giorno nella forma AAAA-MM-GG'
}
