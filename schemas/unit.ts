import { Type, type Static } from '@sinclair/typebox'
import { ApartmentId } from './apartment.ts'
import { Closed, Day, Id, NotEmpty, Nullable, OneOf, Ref, Text } from './common.ts'
import { Name } from './guest.ts'

export const UNIT_KINDS = ['camera', 'appartamento', 'posto_letto', 'piazzola'] as const
export const BLOCK_REASONS = ['uso_proprio', 'manutenzione', 'canale', 'altro'] as const

const struttura_id = Type.Integer({ ...Id, description: 'La struttura, di cui si usa l’account della Polizia' })
const nome = Name(100)
const tipo = OneOf(UNIT_KINDS, { description: 'Che cosa si affitta' })
const Count = (maximum: number, description: string) => Type.Integer({ minimum: 0, maximum, description })

const camere = Count(100, 'Le camere, per le statistiche')
const posti_letto = Count(1000, 'I posti letto')
const ospiti_massimi = Type.Integer({ minimum: 1, maximum: 1000, description: 'Quanti ospiti può ospitare' })
const ordine = Type.Integer({ minimum: 0, maximum: 100_000, description: 'Il posto negli elenchi' })

const optional = {
  id_appartamento: Nullable(ApartmentId({
    description: 'L’appartamento presso Alloggiati Web, per gli account «Gestione Appartamenti»'
  })),
  cin: Nullable(Text(30, { description: 'Codice Identificativo Nazionale' })),
  gruppo: Nullable(Text(50, { description: 'Un’etichetta, per esempio il piano o la casa' })),
  attiva_da: Nullable({ ...Day, description: 'Il primo giorno di uso; se manca, da sempre' }),
  attiva_a: Nullable({ ...Day, description: 'L’ultimo giorno di uso, compreso; se manca, per sempre' })
}

const EXAMPLE = {
  id: 1,
  struttura_id: 1,
  nome: 'Camera Glicine',
  tipo: 'camera',
  camere: 1,
  posti_letto: 2,
  ospiti_massimi: 3,
  id_appartamento: null,
  cin: null,
  gruppo: 'Primo piano',
  ordine: 1,
  attiva_da: null,
  attiva_a: null
}

const { gruppo, ...rest } = optional
export const Unit = Closed(
  { id: Id, struttura_id, nome, tipo, camere, posti_letto, ospiti_massimi, ...rest, gruppo, ordine },
  { $id: 'Unita', examples: [EXAMPLE] }
)
export type Unit = Static<typeof Unit>

const counts = { camere, posti_letto, ordine }

/** By default a unit has one room, a bed for each guest, and belongs to the first establishment. */
export const UnitCreation = Closed({
  nome,
  tipo,
  ospiti_massimi,
  struttura_id: Type.Optional(NotEmpty(struttura_id)),
  ...Type.Partial(Type.Object({ ...counts, ...optional })).properties
}, { examples: [{ nome: 'Camera Glicine', tipo: 'camera', ospiti_massimi: 3, posti_letto: 2 }] })
export type UnitCreation = Static<typeof UnitCreation>

/** Any of the fields. A whole unit can be sent back. */
export const UnitUpdate = Closed({
  struttura_id: Type.Optional(NotEmpty(struttura_id)),
  nome: Type.Optional(NotEmpty(nome)),
  tipo: Type.Optional(NotEmpty(tipo)),
  ospiti_massimi: Type.Optional(NotEmpty(ospiti_massimi)),
  camere: Type.Optional(NotEmpty(camere)),
  posti_letto: Type.Optional(NotEmpty(posti_letto)),
  ordine: Type.Optional(NotEmpty(ordine)),
  ...Type.Partial(Type.Object(optional)).properties,
  id: Type.Optional(Type.Unknown())
}, { examples: [{ ospiti_massimi: 4 }] })
export type UnitUpdate = Static<typeof UnitUpdate>

export const UnitList = Closed({ data: Type.Array(Ref(Unit)) })
export const UnitResponse = Closed({ data: Ref(Unit) })

export const FreeUnitsQuery = Closed({
  da: { ...Day, description: 'L’arrivo' },
  a: { ...Day, description: 'La partenza' },
  ospiti: Type.Optional({ ...ospiti_massimi, description: 'Per quanti ospiti; se manca, per qualsiasi numero' })
})
export type FreeUnitsQuery = Static<typeof FreeUnitsQuery>

const dal = { ...Day, description: 'La prima notte' }
const al = { ...Day, description: 'Il giorno dopo l’ultima notte' }
const motivo = OneOf(BLOCK_REASONS, { description: 'Perché non si affitta' })
const note = Nullable(Text(500))

const BLOCK = { id: 1, unita_id: 1, dal: '2026-12-01', al: '2026-12-05', motivo: 'manutenzione', note: null }

export const Block = Closed({ id: Id, unita_id: Id, dal, al, motivo, note }, { $id: 'Blocco', examples: [BLOCK] })
export type Block = Static<typeof Block>

export const BlockCreation = Closed({ unita_id: Id, dal, al, motivo, note: Type.Optional(note) }, {
  examples: [{ unita_id: 1, dal: '2026-12-01', al: '2026-12-05', motivo: 'manutenzione' }]
})
export type BlockCreation = Static<typeof BlockCreation>

export const BlockQuery = Closed({
  unita_id: Type.Optional({ ...Id, description: 'Soltanto di questa unità' }),
  da: Type.Optional({ ...Day, description: 'I blocchi con una notte da questo giorno' }),
  a: Type.Optional({ ...Day, description: 'I blocchi con una notte fino a questo giorno, compreso' })
})
export type BlockQuery = Static<typeof BlockQuery>

export const BlockList = Closed({ data: Type.Array(Ref(Block)) })
export const BlockResponse = Closed({ data: Ref(Block) })

export const Removed = Closed({ success: Type.Boolean(), message: Type.String() }, {
  examples: [{ success: true, message: 'Eliminata' }]
})

/** Maximum days of one calendar. */
export const CALENDAR_DAYS_MAX = 400

export const OccupancyQuery = Closed({
  da: { ...Day, description: 'Il primo giorno' },
  a: { ...Day, description: `Il giorno dopo l’ultimo, al massimo ${CALENDAR_DAYS_MAX} giorni dopo` }
})
export type OccupancyQuery = Static<typeof OccupancyQuery>

const stayTitle = {
  id: Id,
  titolo: Type.String(),
  dal,
  al,
  ospiti: ospiti_massimi,
  gruppo: Nullable(Text(50)),
  url: Type.String({ description: 'La pagina della prenotazione' })
}
const SHOWN = {
  id: 12, titolo: 'Anna Bianchi', dal: '2026-11-21', al: '2026-11-24', ospiti: 2, gruppo: null, url: '/prenotazioni/12'
}

const CalendarUnit = Closed({
  unita: Ref(Unit),
  prenotazioni: Type.Array(Closed(stayTitle)),
  blocchi: Type.Array(Ref(Block)),
  liberi: Type.Array(Closed({ dal, al }))
}, { $id: 'UnitaNelCalendario' })

/** The confirmed stays and the blocks of each unit, its free nights, and the confirmed stays without a unit. */
export const OccupancyCalendar = Closed(
  { data: Type.Array(CalendarUnit), da_assegnare: Type.Array(Closed(stayTitle)) },
  {
    examples: [{
      data: [{
        unita: EXAMPLE, prenotazioni: [SHOWN], blocchi: [BLOCK], liberi: [{ dal: '2026-11-24', al: '2026-12-01' }]
      }],
      da_assegnare: []
    }]
  }
)
