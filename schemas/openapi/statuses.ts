/** Protocols with their own errors: Supabase Auth and Supabase Storage. */
export type Protocol = 'auth' | 'storage'

/** Descriptions of statuses. A class such as `4XX` describes its statuses that have no own entry. */
const STATUSES: Readonly<Record<string, string>> = {
  200: 'Riuscito',
  201: 'Creato',
  202: 'Preso in carico: l’esito si legge dopo',
  204: 'Riuscito, senza contenuto',
  206: 'La parte chiesta con `Range`',
  302: 'Si prosegue all’indirizzo in `Location`',
  303: 'Si prosegue all’indirizzo in `Location`',
  304: 'Non è cambiato da quando lo si è letto',
  400: 'La richiesta non è valida: `dettagli` nomina ogni campo sbagliato',
  401: 'Le credenziali mancano o non sono valide',
  403: 'Le credenziali non bastano per questa operazione',
  404: 'Non c’è',
  409: 'È in contrasto con quello che c’è già',
  412: 'È cambiato da quando lo si è letto: va letto di nuovo',
  410: 'Non c’è più',
  413: 'È troppo grande',
  416: '`Range` comincia oltre la fine del file: quanto è lungo lo dice `Content-Range`',
  422: 'La richiesta è leggibile, ma non si può eseguire: gli errori dicono perché',
  429: 'Troppe richieste: `Retry-After` dice fra quanti secondi riprovare',
  500: 'Un errore del server: `requestId` lo identifica nel suo registro',
  502: 'Un servizio esterno ha risposto in modo inatteso',
  503: 'Il servizio, o uno da cui dipende, non è disponibile: si può riprovare dopo `Retry-After`',
  '4XX': 'Un altro errore della richiesta: `codice` dice quale',
  '5XX': 'Un altro errore del server o di un servizio da cui dipende: `codice` dice quale'
}

/** Descriptions for the protocols, whose errors have other fields. */
const OF_PROTOCOLS: Readonly<Record<Protocol, Readonly<Record<string, string>>>> = {
  auth: {
    400: 'La richiesta non è valida: `msg` dice perché',
    422: 'La richiesta è leggibile, ma non si può eseguire: `error_code` dice perché',
    500: 'Un errore del server: `error_id` lo identifica nel suo registro',
    '4XX': 'Un altro errore della richiesta: `error_code` dice quale',
    '5XX': 'Un altro errore del server: `error_code` dice quale'
  },
  storage: {
    400: 'La richiesta non è valida, o il file o il bucket non c’è (`statusCode` è `404`), c’è già (`409`) o è ' +
      'troppo grande (`413`): `code` dice quale',
    416: '`Range` comincia oltre la fine del file: quanto è lungo lo dice `Content-Range`',
    500: 'Un errore del server: `X-Request-Id` lo identifica nel suo registro',
    '4XX': 'Un altro errore della richiesta: `code` dice quale',
    '5XX': 'Un altro errore del server: `code` dice quale'
  }
}

/** Fastify's text for a response without description. */
const NO_DESCRIPTION = 'Default Response'

interface StatusContext { isLocated: boolean, protocol: Protocol | undefined }

/** The description of a status: the route's own, else the general one. */
export function describeStatus (status: string, own: string, { isLocated, protocol }: StatusContext): string {
  const known = { ...STATUSES, ...protocol && OF_PROTOCOLS[protocol] }
  const words = own === NO_DESCRIPTION ? known[status] ?? known[`${status[0]}XX`] ?? own : own
  return status === '201' && isLocated ? `${words}: l’indirizzo è in \`Location\`` : words
}
