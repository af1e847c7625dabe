import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import { readConfig } from '#src/config/config.ts'
import { temporaryFolder } from '#test/helper.ts'

const environ = { BACKUP_PASSPHRASE: 'otto barche sul lago', MASTER_KEY: Buffer.alloc(32, 1).toString('base64') }

t.test('backups among the files of the database or of the documents stop the start, wherever links lead', async (t) => {
  const folder = temporaryFolder(t)
  const DATA_DIR = join(folder, 'dati')
  const elsewhere = join(folder, 'disco')
  for (const made of [join(DATA_DIR, 'files', '4a'), join(elsewhere, 'base', 'copie')]) {
    mkdirSync(made, { recursive: true })
  }
  symlinkSync(join(elsewhere, 'base'), join(DATA_DIR, 'postgres'))
  symlinkSync(join(DATA_DIR, 'files'), join(folder, 'legame'))
  symlinkSync(DATA_DIR, join(folder, 'stessi-dati'))
  symlinkSync('dati/files/domani', join(folder, 'verso-domani'))
  symlinkSync('verso-domani', join(folder, 'oltre'))
  symlinkSync('cerchio', join(folder, 'cerchio'))
  const wrong: [name: string, place: string][] = [
    ['files', join(DATA_DIR, 'files')],
    ['files', join(DATA_DIR, 'files/')],
    ['files', join(DATA_DIR, 'files', '4a')],
    ['files', join(DATA_DIR, 'files', 'non', 'ancora')],
    ['files', `${DATA_DIR}/altro/../files`],
    ['files', relative('', join(DATA_DIR, 'files'))],
    ['files', join(folder, 'legame')],
    ['files', join(folder, 'legame', 'non', 'ancora')],
    ['files', join(folder, 'stessi-dati', 'files')],
    ['files', join(folder, 'verso-domani')],
    ['files', join(folder, 'oltre', 'copie')],
    ['postgres', join(DATA_DIR, 'postgres')],
    ['postgres', join(DATA_DIR, 'postgres', 'copie')],
    ['postgres', join(elsewhere, 'base')],
    ['postgres', join(elsewhere, 'base', 'copie')]
  ]
  for (const [name, BACKUP_DIR] of wrong) {
    t.throws(() => readConfig({ ...environ, DATA_DIR, BACKUP_DIR }), {
      name: 'ConfigError', message: new RegExp(`^BACKUP_DIR: non può essere la cartella ${name} di DATA_DIR, [^\\n]+$`)
    }, BACKUP_DIR)
  }
  for (const place of ['', 'dati', 'dati/salvataggi', 'dati/files-altri', 'dati/postgres.bak', 'disco', 'cerchio']) {
    const BACKUP_DIR = join(folder, place)
    t.match(readConfig({ ...environ, DATA_DIR, BACKUP_DIR }), { BACKUP_DIR })
  }
})

t.test('so they do where there are no data yet, and nothing is made for them', async (t) => {
  const folder = temporaryFolder(t)
  const DATA_DIR = join(folder, 'dati')
  for (const name of ['postgres', 'files']) {
    const BACKUP_DIR = join(DATA_DIR, name, 'salvataggi')
    t.throws(() => readConfig({ ...environ, MASTER_KEY: '', DATA_DIR, BACKUP_DIR }), { message: /^BACKUP_DIR: / })
  }
  t.same(readdirSync(folder), [])
})
