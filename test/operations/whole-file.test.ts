import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { readBackup } from '#src/operations/backup/contents.ts'
import { writePartial } from '#src/operations/backup/whole-file.ts'
import { temporaryFolder } from '#test/helper.ts'

const content = () => Readable.from([Buffer.from('nuovo')]) as AsyncIterable<Buffer>

t.test('a file takes the place of one that is there, and of nothing else', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'vero.bak')
  writeFileSync(file, 'vecchio')
  symlinkSync(file, join(folder, 'legame.bak'))
  mkdirSync(join(folder, 'cartella.bak'))
  await t.rejects(writePartial(join(folder, 'legame.bak'), content()), { message: /è un collegamento/ })
  await t.rejects(writePartial(join(folder, 'cartella.bak'), content()), { message: /non è un file/ })
  spawnSync('mkfifo', [join(folder, 'tubo.bak')])
  await t.rejects(writePartial(join(folder, 'tubo.bak'), content()), { message: /non è un file/ })
  t.equal(readFileSync(file, 'utf8'), 'vecchio')
  await (await writePartial(file, content())).settle()
  t.equal(readFileSync(file, 'utf8'), 'nuovo')
  t.same(readdirSync(folder), ['cartella.bak', 'legame.bak', 'tubo.bak', 'vero.bak'], 'nothing else is left')
})

t.test('what is no file is not read as a backup, and is not waited for', async (t) => {
  const folder = temporaryFolder(t)
  spawnSync('mkfifo', [join(folder, 'tubo')])
  for (const path of [folder, join(folder, 'tubo'), '/dev/zero']) {
    await t.rejects(readBackup(path, 'otto barche sul lago'), { message: /non è un file/ })
  }
})
