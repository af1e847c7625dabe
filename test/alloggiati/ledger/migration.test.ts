import t from 'tap'
import { migrate } from '#src/plugins/database/migrate.ts'
import { databaseBefore } from '#test/migration.ts'

t.test('a database with schedine is migrated whole, and the version before can still write to it', async (t) => {
  const { url, sql } = await databaseBefore(t, '0004_content_fingerprint_optional')
  await sql`
    insert into invii (ricevuta, utente, operatore, metodo, data_arrivo, permanenza, scadenza, stato, lease_fino_al)
    values ('AW-20261121-1', 'RM000001', 'prova', 'Send', '2026-11-21', 3, now(), 'pronto', now())`
  await sql`
    insert into invii_schedine
      (invio_id, indice, capo, utente, riga, permanenza, impronta_contenuto, impronta_identita, esito)
    values (1, 0, 0, 'RM000001', 'riga', 3, 'contenuto', 'identità', 'in_corso')`
  await migrate(url)
  t.match(await sql`select * from invii_schedine`, [
    {
      invio_id: 1,
      riga: Buffer.from('riga'),
      impronta_identita: Buffer.from('identità'),
      impronta_contenuto: Buffer.from('contenuto')
    }
  ])
  await sql`update invii_schedine set esito = 'acquisita'`
  await sql`
    insert into invii_schedine
      (invio_id, indice, capo, utente, riga, permanenza, impronta_contenuto, impronta_identita, esito)
    values (1, 1, 1, 'RM000001', 'riga', 3, 'contenuto', 'altra identità', 'in_corso')`
  for (const change of ["riga = 'altra'", "impronta_identita = 'altra'", 'permanenza = 4', 'capo = 1']) {
    await t.rejects(sql.unsafe(`update invii_schedine set ${change}`), { code: 'LC002' }, change)
  }
})
