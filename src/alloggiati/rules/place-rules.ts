import { dayWithArticle } from '#src/lib/day-with-article.ts'
import type { Day } from '#src/lib/time.ts'
import type { Tables } from '../tables/code-tables.ts'
import { inForce, ITALY, STATELESS, type Comune, type Stato } from '../tables/types.ts'
import type { GuestCase } from './case.ts'
import { advice, matchingComuni, matchingStates, successors } from './proposals.ts'
import { namedComuni, type Rule, type Values } from './rule.ts'

/**
 * Rules about the place of birth and the citizenship. Comune and province depend on the birth state, never on the
 * citizenship.
 */
export const PLACE_RULES: readonly Rule[] = [
  {
    id: 'stato-nascita-mancante',
    field: 'stato_nascita',
    message: 'Lo stato di nascita è obbligatorio (per l’Italia 100000100)',
    source: 'Tracciato, campo 10',
    applies: ({ birth, fields, born, today, tables }) => birth.stateCode === '' && (
      matchingComuni(fields.comune_nascita, '', tables, born ?? today).length === 0 || { proposta: ITALY })
  },
  {
    id: 'stato-nascita-sconosciuto',
    field: 'stato_nascita',
    message: 'Lo stato di nascita {codice} non è nella tabella degli stati{consiglio}',
    source: 'Tabella Luoghi',
    applies: ({ birth: { stateCode: codice, state }, born, today, tables }) =>
      codice !== '' && state === undefined && { codice, ...advice(matchingStates(codice, tables, born ?? today)) }
  },
  {
    id: 'stato-nascita-apolide',
    field: 'stato_nascita',
    message:
      'Lo stato di nascita non può essere APOLIDE, che è una cittadinanza: indicare lo stato in cui è nata la persona',
    source: 'Tracciato, campo 10: APOLIDE non è un luogo',
    applies: ({ birth }) => birth.stateCode === STATELESS
  },
  {
    id: 'stato-nascita-ricavato',
    field: 'stato_nascita',
    severity: 'warning',
    message: 'Lo stato di nascita, non indicato, viene comunicato come «{nome}», ricavato dal comune di nascita ' +
      '{comune}',
    source: 'Tracciato, campi 8 e 10: un comune italiano è in Italia',
    applies: ({ birth: { state, comune }, fields }) =>
      fields.stato_nascita === '' &&
      comune.status === 'found' && { nome: state!.descrizione, comune: comune.comune.descrizione }
  },
  {
    id: 'stato-nascita-cessato',
    field: 'stato_nascita',
    message: 'Lo stato di nascita {nome} è cessato {data}, prima della data di nascita{consiglio}',
    source: 'Tabella Luoghi, DataFineVal; guida p. 9: i luoghi cessati valgono per la nascita',
    applies: ({ birth: { state }, born, tables }) => born !== undefined && endedState(state, born, tables)
  },
  {
    id: 'comune-mancante',
    field: 'comune_nascita',
    message: 'Il comune di nascita è obbligatorio per chi è nato in Italia',
    source: 'Tracciato, campo 8',
    applies: (guest) => bornInItaly(guest) && guest.birth.comune.status === 'absent'
  },
  {
    id: 'comune-sconosciuto',
    field: 'comune_nascita',
    message: 'Il comune di nascita {codice} non è nella tabella dei comuni italiani{consiglio}',
    source: 'Tabella Luoghi',
    applies: ({ birth: { comune }, fields: { comune_nascita: codice, provincia_nascita }, born, today, tables }) =>
      comune.status === 'unknown' &&
      { codice, ...advice(matchingComuni(codice, provincia_nascita, tables, born ?? today)) }
  },
  {
    id: 'comune-ambiguo',
    field: 'comune_nascita',
    message: 'Il codice {codice} del comune di nascita indica più di un comune: scegliere tra {candidati}',
    source: 'Tabella Luoghi: più comuni possono avere lo stesso codice breve',
    applies: ({ birth: { comune }, fields }) =>
      comune.status === 'ambiguous' && {
        codice: fields.comune_nascita,
        candidati: namedComuni(comune.candidates)
      }
  },
  {
    id: 'comune-cessato',
    field: 'comune_nascita',
    message:
      'Il comune di nascita {nome} ({provincia}) è cessato con questo codice {data}, prima della data di nascita' +
      '{consiglio}',
    source: 'Tabella Luoghi, DataFineVal; guida p. 9',
    applies: ({ birth: { comune }, born, tables }) => comune.status === 'ceased' && {
      ...ended(comune.comune, born!) || {}, ...advice(successors(comune.comune, tables, born!))
    }
  },
  {
    id: 'comune-estero',
    field: 'comune_nascita',
    message:
      'Chi è nato in {nome} non ha un comune di nascita italiano: lasciare vuoto il campo o ripetere lo stato {codice}',
    source: 'Tracciato, campo 8: solo se nato in Italia',
    applies: ({ birth: { state, comune } }) =>
      comune.status === 'misplaced' && { nome: state!.descrizione, codice: state!.codice }
  },
  {
    id: 'provincia-mancante',
    field: 'provincia_nascita',
    message: 'La provincia di nascita è obbligatoria per chi è nato in Italia',
    source: 'Tracciato, campo 9',
    applies: (guest) => bornInItaly(guest) && guest.birth.provincia === ''
  },
  {
    id: 'provincia-ricavata',
    field: 'provincia_nascita',
    severity: 'warning',
    message: 'La provincia di nascita, non indicata, viene comunicata come «{sigla}», ricavata dal comune di nascita ' +
      '{comune}',
    source: 'Tabella Luoghi: ogni comune ha la sua provincia',
    applies: ({ birth: { comune, provincia: sigla }, fields }) =>
      fields.provincia_nascita === '' && comune.status === 'found' && { sigla, comune: comune.comune.descrizione }
  },
  {
    id: 'provincia-sconosciuta',
    field: 'provincia_nascita',
    message: 'La provincia di nascita {sigla} non esiste{consiglio}',
    source: 'Tracciato, campo 9; tabella Luoghi',
    applies: (guest) => {
      const { birth: { comune, isFormerProvince }, fields: { provincia_nascita: sigla }, tables } = guest
      if (!bornInItaly(guest) || sigla === '' || isFormerProvince || tables.provincia(sigla) !== undefined) return false
      if (comune.status === 'found') return { sigla, ...comuneProvince(comune.comune) }
      const [province, ...others] = tables.named('province', sigla)
      return province === undefined || others.length > 0
        ? { sigla, consiglio: ': usare la sigla di due lettere (Roma: RM)' }
        : { sigla, ...advice([province]) }
    }
  },
  {
    id: 'provincia-discordante',
    field: 'provincia_nascita',
    message: 'La provincia di nascita {sigla} non è quella del comune{consiglio}',
    source: 'Tabella Luoghi',
    applies: ({ birth: { comune, isFormerProvince }, fields: { provincia_nascita: sigla }, tables }) =>
      comune.status === 'found' &&
      tables.provincia(sigla) !== undefined &&
      sigla !== comune.comune.provincia &&
      !isFormerProvince && { sigla, ...comuneProvince(comune.comune) }
  },
  {
    id: 'provincia-di-allora',
    field: 'provincia_nascita',
    severity: 'warning',
    message: 'La provincia di nascita {sigla}, giusta alla nascita, viene comunicata come «{provincia}»: ' +
      'è quella di {nome} nella tabella della Polizia',
    source: 'Tabella Luoghi; sigle passate (sigle-passate.tsv)',
    applies: ({ birth: { comune, isFormerProvince, provincia }, fields: { provincia_nascita: sigla } }) =>
      isFormerProvince && comune.status === 'found' && { sigla, provincia, nome: comune.comune.descrizione }
  },
  {
    id: 'provincia-estero',
    field: 'provincia_nascita',
    message:
      'La provincia di nascita va indicata solo per chi è nato in Italia: per chi è nato in {nome} deve essere vuota',
    source: 'Tracciato, campo 9: solo se nato in Italia',
    applies: (guest) =>
      guest.birth.state !== undefined &&
      !bornInItaly(guest) &&
      guest.fields.provincia_nascita !== '' && { nome: guest.birth.state.descrizione }
  },
  {
    id: 'cittadinanza-mancante',
    field: 'cittadinanza',
    message: 'La cittadinanza è obbligatoria',
    source: 'Tracciato, campo 11',
    applies: ({ fields }) => fields.cittadinanza === ''
  },
  {
    id: 'cittadinanza-sconosciuta',
    field: 'cittadinanza',
    message: 'La cittadinanza {codice} non è nella tabella degli stati{consiglio}',
    source: 'Tabella Luoghi',
    applies: ({ fields: { cittadinanza: codice }, today, tables }) =>
      codice !== '' && tables.stato(codice) === undefined &&
      { codice, ...advice(matchingStates(codice, tables, today)) }
  },
  {
    id: 'cittadinanza-cessata',
    field: 'cittadinanza',
    message: 'La cittadinanza {nome} non esiste più {dal}{consiglio}',
    source: 'Tabella Luoghi, DataFineVal',
    applies: ({ fields, tables, today }) => endedState(tables.stato(fields.cittadinanza), today, tables)
  }
]

function bornInItaly ({ birth }: GuestCase): boolean {
  return birth.stateCode === ITALY
}

/** Message values that name the province of a comune. */
function comuneProvince ({ descrizione, provincia }: Comune): Values {
  return { consiglio: `: ${descrizione} è in provincia di ${provincia}`, proposta: provincia }
}

/** Values for the message about a state no longer in force on `day`, with its successors. */
function endedState (state: Stato | undefined, day: Day, tables: Tables): false | Values {
  const values = ended(state, day)
  if (values === false) return false
  return { ...values, ...advice(matchingStates(state!.descrizione, tables, day), ': indicare lo stato di oggi') }
}

/** Values for the message about a place no longer in force on `day`. False if it was in force, or is unknown. */
function ended (
  luogo: { descrizione: string; cessato_il: string | null; provincia?: string } | undefined,
  day: string
): false | Values {
  if (luogo === undefined || luogo.cessato_il === null || inForce(luogo, day)) return false
  const [data, dal] = [dayWithArticle('il', luogo.cessato_il), dayWithArticle('dal', luogo.cessato_il)]
  return { nome: luogo.descrizione, provincia: luogo.provincia ?? '', data, dal }
}
