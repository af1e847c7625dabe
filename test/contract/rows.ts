/*
 * The rows of the contract, as short titles. A row's letter and number are those in the contract. An endpoint has
 * method, path and access, an error case also a status.
 */

type Access = 'public' | 'auth' | 'admin'
type Endpoint = readonly [method: string, path: string, access: Access, status: number, promise: string]

/** Every endpoint, in the order of the contract. `status` is that of success. */
export const ENDPOINTS = {
  E01: ['GET', '/api/prenotazioni', 'auth', 200, 'the calendar is a bare array of entries'],
  E02: ['GET', '/api/v1/prenotazioni', 'auth', 200, 'bookings are listed under data, without their guests'],
  E03: ['GET', '/api/v1/prenotazioni/:id', 'auth', 200, 'a booking is shown with its guests'],
  E04: ['POST', '/api/v1/prenotazioni', 'auth', 201, 'a booking is made and shown'],
  E05: ['PUT', '/api/v1/prenotazioni/:id', 'auth', 200, 'some fields of a booking are changed'],
  E06: ['POST', '/api/v1/prenotazioni/delete-bulk', 'auth', 200, 'bookings are deleted, and the deleted are named'],
  E07: ['POST', '/api/saveOspiti', 'auth', 200, 'the guests of a booking are saved and counted'],
  E08: ['GET', '/api/alloggiati/check', 'auth', 200, 'the connection to the police is tried'],
  E09: ['POST', '/api/alloggiati/valida', 'auth', 200, 'records are judged, and nothing is sent'],
  E10: ['POST', '/api/alloggiati/invio', 'auth', 200, 'records are sent, and get a reference'],
  E11: ['GET', '/api/alloggiati/ricevute', 'auth', 200, 'the receipt of a day is a PDF'],
  E12: ['GET', '/api/alloggiati/verifica-ricevute', 'auth', 200, 'bookings without a receipt are found'],
  E13: ['GET', '/api/alloggiati/codici', 'auth', 200, 'the tables of codes are given'],
  E14: ['GET', '/api/lettere-benvenuto', 'auth', 200, 'letters are listed under data'],
  E15: ['GET', '/api/lettere-benvenuto/:prenotazioneId', 'auth', 200, 'the response says whether there is a letter'],
  E16: ['POST', '/api/lettere-benvenuto/genera', 'auth', 201, 'a letter is made and shown'],
  E17: ['DELETE', '/api/lettere-benvenuto/:prenotazioneId', 'auth', 200, 'a letter is deleted'],
  E18: ['POST', '/api/documents/upload', 'auth', 200, 'an image of a document is stored'],
  E19: ['GET', '/api/documents/:booking_id/:guest_idx/:side', 'auth', 200, 'the image of a document is given'],
  E20: ['POST', '/api/generate-pdf', 'auth', 200, 'a PDF is made from a template, and can be downloaded'],
  E21: ['POST', '/api/generate-template', 'auth', 200, 'a report is made from rows'],
  E22: ['GET', '/api/csv-pdf-list', 'auth', 200, 'the PDFs of a person are listed'],
  E23: ['GET', '/api/csv-pdf-download/:id', 'auth', 200, 'a PDF is downloaded'],
  E24: ['GET', '/api/history', 'auth', 200, 'the created PDFs are listed'],
  E25: ['POST', '/api/ocr', 'auth', 200, 'a picture is read: its text and its zone'],
  E26: ['POST', '/api/mrz/parse', 'auth', 200, 'the lines of a zone are parsed'],
  E27: ['POST', '/api/save-scan', 'auth', 200, 'a scan is kept and has an id'],
  E28: ['POST', '/api/operators', 'admin', 200, 'an operator is created, and the user of the provider is shown'],
  E29: ['GET', '/api/operators', 'admin', 200, 'only administrators and operators are listed'],
  E30: ['POST', '/api/operators/pfp', 'admin', 200, 'a profile picture is set'],
  E31: ['GET', '/api/users', 'admin', 200, 'users are listed'],
  E32: ['POST', '/api/send-email', 'admin', 200, 'a mail is sent through the configured server'],
  E33: ['POST', '/api/admin/grant-cookie', 'admin', 200, 'the cookie of the pages under /ad/ is set'],
  E34: ['POST', '/api/auth/unlink', 'auth', 200, 'a provider is unlinked from the account of the caller'],
  E35: ['GET', '/api/sessions', 'auth', 200, 'the sessions of the caller are listed'],
  E36: ['POST', '/api/sessions/revoke-all', 'auth', 200, 'all sessions of the caller end'],
  E37: ['GET', '/api/config', 'public', 200, 'a client learns address and public key'],
  E38: ['GET', '/api/version', 'public', 200, 'version, commit and deploy are reported'],
  E39: ['GET', '/api/settings/features', 'public', 200, 'the flags are a bare array'],
  E40: ['POST', '/api/settings/features', 'admin', 200, 'a flag is set'],
  E41: ['GET', '/api/settings/maintenance', 'auth', 200, 'the state of maintenance is reported'],
  E42: ['POST', '/api/settings/maintenance', 'admin', 200, 'maintenance is switched on and off'],
  E43: ['GET', '/api/widget/data', 'auth', 200, 'arrivals, departures and the next guest are reported'],
  E44: ['GET', '/api/map/top-countries', 'auth', 200, 'countries are counted, as many as the limit'],
  E45: ['GET', '/api/storage/signed-url', 'auth', 200, 'a link to a private file is given, for a time'],
  E46: ['GET', '/api/storage/:bucket/:filename', 'auth', 200, 'a stored file is served'],
  E47: ['POST', '/api/querysql', 'admin', 200, 'a statement is run, with the secret of the server'],
  E48: ['GET', '/api/cli/auth/key', 'auth', 200, 'a person gets a key for the command line'],
  E49: ['GET', '/sitemap.xml', 'public', 200, 'the public pages are listed in XML']
} as const satisfies Record<string, Endpoint>

/** Error cases: method, path, status. */
export const CASES = {
  F1: ['POST', '/api/lettere-benvenuto/genera', 400, 'a letter without a booking is refused'],
  F2: ['POST', '/api/lettere-benvenuto/genera', 409, 'a second letter is refused'],
  F3: ['POST', '/api/lettere-benvenuto/genera', 404, 'a letter of an unknown booking is refused'],
  F4: ['DELETE', '/api/lettere-benvenuto/:prenotazioneId', 404, 'a missing letter is not deleted'],
  F5: ['GET', '/api/alloggiati/ricevute', 404, 'a day without receipts is reported'],
  F6: ['GET', '/api/documents/:booking_id/:guest_idx/:side', 404, 'a missing image is reported'],
  F7: ['GET', '/api/alloggiati/check', 503, 'a failed connection is reported'],
  F8: ['POST', '/api/alloggiati/invio', 422, 'a refusal by the police is reported']
} as const satisfies Record<string, readonly [string, string, number, string]>

/** Rows about status codes. */
export const STATUSES = {
  C1: [200, 'success'],
  C2: [201, 'a created resource'],
  C3: [400, 'a wrong request, with every wrong field'],
  C4: [401, 'missing or wrong credentials'],
  C5: [403, 'missing rights'],
  C6: [404, 'a missing resource'],
  C7: [422, 'a submission that failed'],
  C8: [429, 'too many requests, and when to retry'],
  C9: [500, 'an internal error, without details'],
  C10: [503, 'a police service that cannot be reached']
} as const satisfies Record<string, readonly [number, string]>

/** Rules, transitions and limits. */
export const RULES = {
  G1: 'bodies and responses are JSON, except for PDFs, images, forms and the sitemap',
  G2: 'a success has data and status, an error has error and status',
  G3: 'days are YYYY-MM-DD, instants ISO 8601 in UTC with a Z',
  G4: 'texts are Italian, languages two capital letters',
  B1: 'check_out takes precedence over numero_notti',
  B2: 'check_out follows from check_in and numero_notti',
  B3: 'numero_notti fits check_in and check_out, whichever was sent',
  B4: 'an update changes what it names, and the nights with the departure',
  B5: 'a booking is deleted with its guests, images and letter',
  B6: 'saveOspiti saves guests and changes them',
  V1: 'remarks name guest, field and words',
  V2: 'errors make a list invalid, warnings do not',
  V3: 'a province abroad is an error, a strange document number a warning',
  V4: 'an invalid list gets a 200',
  I1: 'testMode calls Test, and nothing is registered',
  I2: 'without testMode Send is called, and the records are registered',
  I3: 'a success names reference, number and method',
  I4: 'a failure names code and message of the service, with status 422',
  I5: 'a list that valida rejects is not sent',
  S1: 'the text is whole, mrz holds the lines or null',
  S2: 'the format follows from number and length of the lines',
  S3: 'the fields are read where each format has them',
  S4: 'lines that are not a zone are refused, and named by their number',
  N1: 'the console requires the secret of the server',
  N2: 'the proxy serves a file to the client itself',
  M1: 'a key is accepted in x-api-key and in api_key',
  M2: 'a bearer token is accepted',
  A1: 'four endpoints are public',
  A2: 'every other one returns 401 without credentials, and with wrong ones',
  A3: 'endpoints for administrators return 403 to others',
  A4: 'sessions and unlink require only credentials',
  A5: 'the service key and an administrator are administrators, the server key and an operator are not',
  A6: '/ad/ opens with the cookie that grant-cookie sets',
  W1: 'bookings are under /api/v1/, the calendar is not',
  W2: 'clients may cache the version for five minutes',
  W3: 'no described endpoint is deprecated',
  T1: 'a generated letter exists',
  T2: 'a second letter changes nothing',
  T3: 'a deleted letter no longer exists',
  T4: 'without a letter nothing is deleted',
  L1: 'beyond the rate limit a response is 429 with Retry-After, on all endpoints',
  L2: 'a signed link expires after 60 seconds',
  L3: 'the version is cached for 5 minutes',
  L4: 'a record has 168 characters',
  L5: 'each field of a record has its width',
  L6: 'the lines of a zone have the lengths of their format',
  L7: 'a picture of 300 DPI is read',
  L8: 'a body that is too large gets a 413',
  L9: 'limit of top-countries is 10 by default, 250 at most'
} as const

export type RowId = keyof typeof ENDPOINTS | keyof typeof CASES | keyof typeof STATUSES | keyof typeof RULES

/** The title of each row's test. */
export const PROMISES: Readonly<Record<RowId, string>> = {
  ...titles(ENDPOINTS, ([method, path, , status, promise]) => `${method} ${path} ${status}: ${promise}`),
  ...titles(CASES, ([method, path, status, promise]) => `${method} ${path} ${status}: ${promise}`),
  ...titles(STATUSES, ([status, promise]) => `${status}: ${promise}`),
  ...RULES
}

function titles<Id extends string, Row> (rows: Readonly<Record<Id, Row>>, title: (row: Row) => string) {
  return Object.fromEntries(Object.entries<Row>(rows).map(([id, row]) => [id, title(row)])) as Record<Id, string>
}
