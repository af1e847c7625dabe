import t from 'tap'
import { codici_tabelle as stored } from '#drizzle/tables/alloggiati.ts'
import { bundledData } from '#src/alloggiati/tables/bundled.ts'
import { TIPI_TABELLA, type TipoTabella } from '#src/alloggiati/tables/csv.ts'
import { formatTabelle } from '#src/alloggiati/tables/format.ts'
import { loadTables, refreshTables, saveTables } from '#src/alloggiati/tables/store.ts'
import { createTables } from '#src/alloggiati/tables/tables.ts'
import { testDatabase } from '#test/database.ts'

const data = { ...bundledData(), errori: [{ codice: '12', descrizione: 'SCHEDINA_CAMPO_NON_CORRETTO' }] }
const csvs = formatTabelle(data)
const newer = { ...csvs, Tipi_Documento: `${csvs.Tipi_Documento}\nPROVA;DOCUMENTO DI PROVA` }

t.test('before anything was downloaded the bundled snapshot serves', async (t) => {
  const { db } = await testDatabase(t)
  const tables = await loadTables(db)
  t.equal(tables.fonte, 'inclusa')
  t.equal(tables.version, createTables(bundledData()).version)
})

t.test('a refresh asks for the five tables, stores them and they are the ones that load', async (t) => {
  const { db } = await testDatabase(t)
  const asked: TipoTabella[] = []
  const refreshed = await refreshTables({ db, download: async (tipo) => { asked.push(tipo); return newer[tipo] } })
  t.same(asked, [...TIPI_TABELLA])
  const loaded = await loadTables(db)
  t.equal(loaded.fonte, 'servizio')
  t.equal(loaded.version, refreshed.version)
  t.equal(loaded.documento('PROVA')?.descrizione, 'DOCUMENTO DI PROVA')
  t.equal(loaded.errore('12')?.descrizione, 'SCHEDINA_CAMPO_NON_CORRETTO')
})

t.test('a later refresh replaces all five tables', async (t) => {
  const { db } = await testDatabase(t)
  await saveTables(db, newer)
  const before = await db.select().from(stored)
  await saveTables(db, csvs)
  const after = await db.select().from(stored)
  t.equal(after.length, TIPI_TABELLA.length)
  t.equal((await loadTables(db)).documento('PROVA'), undefined)
  const digest = (rows: typeof before) => rows.find(({ nome }) => nome === 'Tipi_Documento')?.sha256
  t.not(digest(after), digest(before))
})

t.test('one bad table of the five leaves the last good ones as they were', async (t) => {
  const { db } = await testDatabase(t)
  await saveTables(db, newer)
  await t.rejects(saveTables(db, { ...csvs, TipoErrore: '<html>' }), { name: 'TabellaError' })
  await t.rejects(refreshTables({
    db,
    download: async (tipo) => {
      if (tipo === 'ListaAppartamenti') throw new Error('servizio non raggiungibile')
      return csvs[tipo]
    }
  }), { message: 'servizio non raggiungibile' })
  t.equal((await loadTables(db)).documento('PROVA')?.codice, 'PROVA')
})

t.test('stored tables that are damaged or incomplete count as none', async (t) => {
  const { db } = await testDatabase(t)
  await db.insert(stored).values({ nome: 'Luoghi', csv: csvs.Luoghi, sha256: '' })
  t.equal((await loadTables(db)).fonte, 'inclusa')
  await db
    .insert(stored)
    .values(TIPI_TABELLA.filter((nome) => nome !== 'Luoghi').map((nome) => ({ nome, csv: 'rotta', sha256: '' })))
  t.equal((await loadTables(db)).fonte, 'inclusa')
})
