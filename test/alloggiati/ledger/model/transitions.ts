import type { State } from '#schemas/submission.ts'

/** The evidence that a transition requires. */
export type Evidence =
  /** The current attempt is recorded, without an outcome. */
  'tentativo_aperto' |
  /** An attempt was acquired. */
  'esito_K' |
  /** The current attempt was not acquired. */
  'esito_N' |
  /** No attempt was acquired, or there is no attempt. */
  'tutti_N' |
  /** A person has decided this transition on this version. */
  'reinvia' | 'depositato' | 'annulla' |
  /** The receipt of a day that may count an acquired attempt. */
  'ricevuta'

interface Transition { da: State, a: State, serve?: Evidence, perche: string }

/** Every transition that the database trigger allows. The code only requests transitions. */
export const TRANSITIONS: readonly Transition[] = [
  { da: 'pronto', a: 'preso', perche: 'un processo lo prende in carico' },
  { da: 'pronto', a: 'non_inviato', serve: 'tutti_N', perche: 'ritirato da chi lo aspettava' },
  { da: 'pronto', a: 'da_verificare', perche: 'la finestra di arrivo si è chiusa' },
  { da: 'preso', a: 'pronto', perche: 'niente è stato inviato: si riprova' },
  { da: 'preso', a: 'non_inviato', serve: 'tutti_N', perche: 'accesso, prova o connessione falliti' },
  { da: 'preso', a: 'rifiutato', serve: 'tutti_N', perche: 'la prova ha respinto le schedine' },
  { da: 'preso', a: 'da_verificare', perche: 'la finestra di arrivo si è chiusa' },
  { da: 'preso', a: 'in_invio', serve: 'tentativo_aperto', perche: 'punto di non ritorno' },
  { da: 'in_invio', a: 'acquisito', serve: 'esito_K', perche: 'risposta: tutte acquisite' },
  { da: 'in_invio', a: 'parziale', serve: 'esito_K', perche: 'risposta: acquisite in parte' },
  { da: 'in_invio', a: 'rifiutato', serve: 'tutti_N', perche: 'risposta: nessuna acquisita' },
  { da: 'in_invio', a: 'non_inviato', serve: 'tutti_N', perche: 'provato che niente è partito' },
  {
    da: 'in_invio',
    a: 'pronto',
    serve: 'esito_N',
    perche: 'provato che niente è partito, e nessuno lo aspetta: si riprova'
  },
  { da: 'in_invio', a: 'sconosciuto', perche: 'nessuna prova' },
  { da: 'sconosciuto', a: 'acquisito', serve: 'esito_K', perche: 'risposta tardiva o ricevuta' },
  { da: 'sconosciuto', a: 'parziale', serve: 'esito_K', perche: 'risposta tardiva' },
  { da: 'sconosciuto', a: 'rifiutato', serve: 'tutti_N', perche: 'risposta tardiva' },
  { da: 'sconosciuto', a: 'non_inviato', serve: 'tutti_N', perche: 'provato da una risposta tardiva' },
  {
    da: 'sconosciuto',
    a: 'pronto',
    serve: 'tutti_N',
    perche: 'la ricevuta prova che non è stato acquisito: si può inviare'
  },
  { da: 'sconosciuto', a: 'da_verificare', perche: 'prova ambigua, impossibile o tardiva' },
  { da: 'da_verificare', a: 'acquisito', serve: 'esito_K', perche: 'prova o decisione: acquisito' },
  { da: 'da_verificare', a: 'parziale', serve: 'esito_K', perche: 'prova: acquisito in parte' },
  { da: 'da_verificare', a: 'pronto', serve: 'reinvia', perche: 'decisione: inviare di nuovo, rischio accettato' },
  { da: 'da_verificare', a: 'depositato_altrove', serve: 'depositato', perche: 'decisione: comunicato per altra via' },
  { da: 'da_verificare', a: 'annullato', serve: 'annulla', perche: 'decisione: abbandonato' },
  { da: 'acquisito', a: 'ricevuto', serve: 'ricevuta', perche: 'la ricevuta del giorno corrisponde' },
  { da: 'acquisito', a: 'da_verificare', perche: 'la ricevuta contraddice' },
  { da: 'parziale', a: 'da_verificare', perche: 'la ricevuta contraddice' }
]
