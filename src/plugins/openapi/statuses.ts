/** What a status means, in the words of the description; a class stands for those that have no words of their own. */
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
  413: 'È troppo grande',
  422: 'È chiaro, ma non si può eseguire: gli errori dicono perché',
  429: 'Troppe richieste: `Retry-After` dice fra quanti secondi riprovare',
  500: 'Un errore del server: `requestId` lo identifica nel suo registro',
  502: 'Un servizio esterno ha risposto in modo inatteso',
  503: 'Il servizio, o uno da cui dipende, non è disponibile: si può riprovare dopo `Retry-After`',
  '4XX': 'Un altro errore della richiesta: `codice` dice quale',
  '5XX': 'Un altro errore del server o di un servizio da cui dipende: `codice` dice quale'
}

/** What Fastify's description says where nobody has said anything. */
const UNSAID = 'Default Response'

/** The words for a status, unless the route has words of its own. */
export function describeStatus (status: string, said: string, { isLocated = false } = {}): string {
  const words = said === UNSAID ? STATUSES[status] ?? STATUSES[`${status[0]}XX`] ?? said : said
  return status === '201' && isLocated ? `${words}: l’indirizzo è in \`Location\`` : words
}
