/* Request and response headers, as the API's description names them. */

interface Header { description: string, schema: object, example: unknown }

const text = { type: 'string', maxLength: 8192 }
const count = { type: 'integer', minimum: 0 }

/** Response headers, without security headers and the general headers of HTTP. */
export const RESPONSE_HEADERS = {
  ETag: { description: 'La versione, da rimandare in `If-None-Match` o `If-Match`', schema: text, example: '"3"' },
  Location: {
    description: 'L’indirizzo della risorsa creata, o dove proseguire', schema: text, example: '/api/v1/invii/1'
  },
  Link: {
    description: 'La pagina seguente, con `rel="next"`; manca sull’ultima', schema: text, example: '<…>; rel="next"'
  },
  'X-Total-Count': {
    description: 'Quanti sono in tutto: con la prima pagina, o se `conteggio=true`', schema: count, example: 42
  },
  'Idempotency-Replayed': {
    description: '`true`: è la risposta già data alla stessa chiave, e non si è fatto nulla di nuovo',
    schema: { type: 'string', enum: ['true'] },
    example: 'true'
  },
  'Preference-Applied': {
    description: 'Si è fatto come chiesto con `Prefer`', schema: text, example: 'respond-async'
  },
  'Retry-After': { description: 'Secondi dopo i quali riprovare', schema: count, example: 5 },
  'WWW-Authenticate': {
    description: 'Come autenticarsi (RFC 6750)', schema: text, example: 'Bearer realm="Locanda"'
  },
  'RateLimit-Limit': { description: 'Richieste ammesse per finestra', schema: count, example: 300 },
  'RateLimit-Remaining': { description: 'Richieste che restano in questa finestra', schema: count, example: 299 },
  'RateLimit-Reset': { description: 'Secondi alla prossima finestra', schema: count, example: 60 },
  'X-Request-Id': {
    description: 'Identifica la richiesta nel registro del server', schema: text, example: 'f516c6bd-…'
  },
  'Content-Disposition': {
    description: 'Il nome con cui salvare il file', schema: text, example: 'attachment; filename=report.pdf'
  },
  'X-Transformations': {
    description: 'Come l’immagine è trasformata', schema: text, example: 'height:200,width:200,resizing_type:fill'
  },
  'X-PDF-Warnings': {
    description: 'Che cosa non si è potuto stampare così com’è: JSON, un elenco di `{codice, messaggio}`, con ' +
      'i caratteri fuori dall’ASCII come `\\uXXXX`; oltre 2000 caratteri gli ultimi mancano',
    schema: { ...text, contentMediaType: 'application/json' },
    example: '[{"codice":"VARIABILE_MANCANTE","messaggio":"i dati non hanno \\u00abnome\\u00bb"}]'
  },
  'Content-Range': {
    description: 'Quale parte è, e di quanti byte; in un 416 quanti sono', schema: text, example: 'bytes 0-1023/4096'
  },
  'Accept-Ranges': { description: 'Con `Range` se ne può chiedere una parte', schema: text, example: 'bytes' },
  'Last-Modified': {
    description: 'Quando è cambiato, da rimandare in `If-Modified-Since` o `If-Range`',
    schema: text,
    example: 'Sat, 21 Nov 2026 09:30:00 GMT'
  },
  'Set-Cookie': {
    description: 'Un cookie per questo server, che nessuna pagina può leggere',
    schema: text,
    example: 'locanda_browser=…; Path=/; HttpOnly; SameSite=Lax'
  },
  'X-Alloggiati-Mode': {
    description: '`sandbox`: la Polizia è quella di prova; manca quando è quella vera',
    schema: { type: 'string', enum: ['sandbox'] },
    example: 'sandbox'
  },
  'X-Alloggiati-Canale': {
    description: '`pec`: il file va mandato alla Questura per posta certificata (DM 16/9/2021); il servizio e il ' +
      'portale prendono solo arrivi di oggi e di ieri',
    schema: { type: 'string', enum: ['pec'] },
    example: 'pec'
  },
  'X-Alloggiati-Avvisi': {
    description: 'Che cosa controllare prima di mandare il file: JSON, un elenco di `{ospite, campo, messaggio}`, ' +
      'con i caratteri fuori dall’ASCII come `\\uXXXX`; oltre 2000 caratteri gli ultimi mancano',
    schema: { ...text, contentMediaType: 'application/json' },
    example: '[{"ospite":0,"campo":"numero_notti","messaggio":"Il soggiorno supera i 30 giorni"}]'
  },
  'X-Sb-Error-Code': {
    description: 'Lo stesso codice dell’errore che è nel corpo', schema: text, example: 'invalid_credentials'
  },
  'X-Supabase-Api-Version': {
    description: 'Il corpo ha la forma che questa versione del protocollo vuole', schema: text, example: '2024-01-01'
  }
} as const satisfies Record<string, Header>
export type ResponseHeader = keyof typeof RESPONSE_HEADERS

interface RequestHeader { description: string, schema: object, example: string }

/** Optional request headers that a route honours besides its schema. */
export const REQUEST_HEADERS = {
  'Idempotency-Key': {
    description: 'Una chiave scelta da chi chiama: la stessa richiesta con la stessa chiave non si esegue due volte',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: '7a1c6f0e-invio-1'
  },
  'If-None-Match': {
    description: 'L’`ETag` letto prima: se non è cambiato, la risposta è 304. In un PUT `*`: solo se non c’è ancora',
    schema: text,
    example: '"3"'
  },
  'If-Match': {
    description: 'L’`ETag` letto prima: se nel frattempo è cambiato, la risposta è 412', schema: text, example: '"3"'
  },
  Prefer: {
    description: '`respond-async`: la risposta arriva subito, e l’esito si legge dopo',
    schema: text,
    example: 'respond-async'
  },
  Range: { description: 'Una parte dei byte (RFC 9110, 14.2)', schema: text, example: 'bytes=0-1023' },
  'If-Range': {
    description: 'L’`ETag` o il `Last-Modified` letto prima: se nel frattempo è cambiato, la risposta è il tutto',
    schema: text,
    example: '"0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f"'
  },
  'If-Modified-Since': {
    description: 'Il `Last-Modified` letto prima: se non è cambiato, la risposta è 304; conta senza `If-None-Match`',
    schema: text,
    example: 'Sat, 21 Nov 2026 09:30:00 GMT'
  },
  'Last-Event-ID': {
    description: 'Il `cursor` dell’ultimo evento letto: il flusso comincia dopo', schema: text, example: '7-0d9b7b1e'
  },
  'X-Upsert': {
    description: '`true`: anche al posto di un file che ha già quel nome',
    schema: { type: 'string', enum: ['true', 'false'] },
    example: 'true'
  },
  'X-Metadata': {
    description: 'I metadati di chi carica: un oggetto JSON in Base64; in un modulo è il campo `metadata`',
    schema: text,
    example: 'eyJhdXRvcmUiOiJBbm5hIn0='
  },
  'X-Supabase-Api-Version': {
    description: 'Da `2024-01-01` gli errori hanno la forma breve, `{code, message}`',
    schema: text,
    example: '2024-01-01'
  }
} as const satisfies Record<string, RequestHeader>
export type RequestHeaderName = keyof typeof REQUEST_HEADERS
