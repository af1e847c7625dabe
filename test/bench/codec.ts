import assert from 'node:assert/strict'
import { decode, encode } from '#src/alloggiati/codec/codec.ts'
import { type RecordSchedina } from '#src/alloggiati/codec/layout.ts'
import { LENGTH } from '#src/alloggiati/codec/layout.ts'
import { interleaved, within, type BenchResult } from './harness.ts'

const RECORDS = 600
const PASSES = 400

/** Compares the codec with minimal code for the same work: it pads and joins, or slices and trims, without checks. */
export async function codecBench (): Promise<BenchResult[]> {
  const records = Array.from({ length: RECORDS }, (_, index) => sample(index))
  const lines = records.map(encode)
  assert.deepEqual(lines, records.map(join))
  assert.deepEqual(lines.map((line) => decoded(line).cognome), lines.map((line) => cut(line).cognome))
  const results = [
    within(2, await interleaved('schedina: encode / padEnd', () => write(records, encode), () => write(records, join))),
    within(2, await interleaved('schedina: decode / slice+trim', () => read(lines, decoded), () => read(lines, cut)))
  ]
  if (!Number.isFinite(sink)) throw new Error('Nothing was encoded')
  return results
}

/** Results are stored, so that V8 cannot omit the work. */
const kept: unknown[] = []
let sink = 0

function write (records: readonly RecordSchedina[], encoder: (record: RecordSchedina) => string): void {
  for (let pass = 0; pass < PASSES; pass++) {
    records.forEach((record, index) => {
      const line = encoder(record)
      sink = (sink + line.charCodeAt(pass % LENGTH)) | 0
      kept[index] = line
    })
  }
}

function read (lines: readonly string[], decoder: (line: string) => unknown): void {
  for (let pass = 0; pass < PASSES; pass++) {
    lines.forEach((line, index) => { kept[index] = decoder(line) })
  }
}

function decoded (line: string): RecordSchedina {
  const result = decode(line)
  if ('faults' in result) throw new Error(`Invalid test line: ${JSON.stringify(result.faults)}`)
  return result.record
}

function join (record: RecordSchedina): string {
  return record.tipo_alloggiato.padEnd(2) +
    slashed(record.data_arrivo) +
    String(record.permanenza).padStart(2, '0') +
    record.cognome.padEnd(50) +
    record.nome.padEnd(30) +
    (record.sesso === 'M' ? '1' : '2') +
    slashed(record.data_nascita) +
    record.comune_nascita.padEnd(9) +
    record.provincia.padEnd(2) +
    record.stato_nascita.padEnd(9) +
    record.cittadinanza.padEnd(9) +
    record.tipo_doc.padEnd(5) +
    record.num_doc.padEnd(20) +
    record.luogo_rilascio.padEnd(9)
}

function slashed (day: string): string {
  return `${day.slice(8, 10)}/${day.slice(5, 7)}/${day.slice(0, 4)}`
}

function cut (line: string) {
  return {
    tipo_alloggiato: line.slice(0, 2).trim(),
    data_arrivo: line.slice(2, 12).trim(),
    permanenza: line.slice(12, 14).trim(),
    cognome: line.slice(14, 64).trim(),
    nome: line.slice(64, 94).trim(),
    sesso: line.slice(94, 95).trim(),
    data_nascita: line.slice(95, 105).trim(),
    comune_nascita: line.slice(105, 114).trim(),
    provincia: line.slice(114, 116).trim(),
    stato_nascita: line.slice(116, 125).trim(),
    cittadinanza: line.slice(125, 134).trim(),
    tipo_doc: line.slice(134, 139).trim(),
    num_doc: line.slice(139, 159).trim(),
    luogo_rilascio: line.slice(159, 168).trim()
  }
}

const SURNAMES = [
  'ROSSI', 'DE SANTIS', "D'AMICO", 'MUELLER', 'BIANCHI FERRARI', 'VAN DEN BERG', 'OYELARAN', 'KOWALSKA', 'LI'
]
const NAMES = ['MARIA', 'GIAN LUCA', 'ANNA', 'JEAN BAPTISTE', 'OLA', 'FRANCESCO SAVERIO', 'YU']

/** Makes one of a few hundred guests: Italians and foreigners, leaders, and members without a document. */
function sample (index: number): RecordSchedina {
  const italian = index % 3 !== 0
  const member = index % 4 === 3
  const birth = new Date(Date.UTC(1935, 0, 1 + index * 47)).toISOString().slice(0, 10)
  const arrival = new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10)
  return {
    tipo_alloggiato: member ? '19' : String(16 + index % 3),
    data_arrivo: arrival,
    permanenza: 1 + index % 30,
    cognome: SURNAMES[index % SURNAMES.length] + ' ' + 'ABCDEFGHIJ'.slice(0, 1 + index % 10),
    nome: NAMES[index % NAMES.length] ?? 'ANNA',
    sesso: index % 2 === 0 ? 'M' : 'F',
    data_nascita: birth,
    comune_nascita: italian ? String(401001000 + index) : '',
    provincia: italian ? 'TO' : '',
    stato_nascita: italian ? '100000100' : String(100000200 + index % 90),
    cittadinanza: italian ? '100000100' : String(100000200 + index % 90),
    tipo_doc: member ? '' : index % 2 === 0 ? 'IDELE' : 'PASOR',
    num_doc: member ? '' : `CA${String(10_000 + index * 37)}BX`,
    luogo_rilascio: member ? '' : String(401001000 + index)
  }
}
