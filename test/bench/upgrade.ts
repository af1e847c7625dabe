import { connect } from '#src/database/connect.ts'
import { readJournal } from '#src/database/journal.ts'
import { applyMigrations, knownMigrations, migrate } from '#src/database/migrate.ts'
import { createDatabase, fillBookings } from './data.ts'
import { under, type BenchResult } from './harness.ts'

/** Migrations of version 0.1.0. */
const RELEASED = ['0000_init', '0001_rules']
const BOOKINGS = 100_000

/** Measures the upgrade of an installation of 0.1.0 with 100,000 bookings of two guests. */
export async function upgrade (clusterUrl: string): Promise<BenchResult> {
  const url = await createDatabase(clusterUrl, 'bench_upgrade')
  const released = readJournal().filter(({ tag }) => RELEASED.includes(tag)).map(({ when }) => when)
  const { sql, close } = connect(url, 1)
  try {
    await sql.begin((tx) => applyMigrations(tx, knownMigrations().filter(({ folderMillis }) =>
      released.includes(folderMillis))))
  } finally {
    await close()
  }
  await fillBookings(url, BOOKINGS)
  const before = performance.now()
  await migrate(url)
  const amounts = [(performance.now() - before) / 1000]
  return under(60, 's', { name: 'upgrade of 0.1.0 with 100,000 bookings', amounts })
}
