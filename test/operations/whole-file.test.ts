import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { readBackup } from '#src/operations/backup/contents.ts'
import { writePartial } from '#src/operations/backup/whole-file.ts'
import { temporaryFolder } from '#test/helper.ts'

const MARK = Buffer.from('SALVA ')
const content = () => Readable.from([Buffer.from('SALVA nuovo')]) as AsyncIterable<Buffer>

t.test('a file takes the place of one of its kind, and of nothing else', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'vero.bak')
  writeFileSync(file, 'SALVA vecchio')
  writeFileSync(join(folder, 'chiave.bak'), 'SALV')
  symlinkSync(file, join(folder, 'legame.bak'))
  mkdirSync(join(folder, 'cartella.bak'))
  await t.rejects(writePartial(join(folder, 'legame.bak'), MARK, content()), { message: /è un collegamento/ })
  await t.rejects(writePartial(join(folder, 'cartella.bak'), MARK, content()), { message: /non è un file/ })
  spawnSync('mkfifo', [join(folder, 'tubo.bak')])
  await t.rejects(writePartial(join(folder, 'tubo.bak'), MARK, content()), { message: /non è un file/ })
  await t.rejects(writePartial(join(folder, 'chiave.bak'), MARK, content()), { message: /non è un salvataggio/ })
  t.equal(readFileSync(join(folder, 'chiave.bak'), 'utf8'), 'SALV')
  t.equal(readFileSync(file, 'utf8'), 'SALVA vecchio')
  await (await writePartial(file, MARK, content())).settle()
  t.equal(readFileSync(file, 'utf8'), 'SALVA nuovo')
  await (await writePartial(join(folder, 'chiave.bak'), undefined, content())).settle()
  t.equal(readFileSync(join(folder, 'chiave.bak'), 'utf8'), 'SALVA nuovo', 'unless its name is for such files alone')
  const there = ['cartella.bak', 'chiave.bak', 'legame.bak', 'tubo.bak', 'vero.bak']
  t.same(readdirSync(folder), there, 'nothing else is left')
})

t.test('a refused name costs nothing of what is beside it, and a folder that goes away is told of', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'appunti.txt')
  writeFileSync(file, 'appunti')
  writeFileSync(`${file}.partial`, 'di un altro')
  await t.rejects(writePartial(file, MARK, content()), { message: /non è un salvataggio/ })
  t.equal(readFileSync(`${file}.partial`, 'utf8'), 'di un altro')

  const gone = join(folder, 'via')
  mkdirSync(gone)
  async function * pieces () {
    yield MARK
    rmSync(gone, { recursive: true })
    yield MARK
  }
  await t.rejects(writePartial(join(gone, 'a.bak'), MARK, pieces()), { message: /è stato tolto mentre/ })
})

t.test('what is no file is not read as a backup, and is not waited for', async (t) => {
  const folder = temporaryFolder(t)
  spawnSync('mkfifo', [join(folder, 'tubo')])
  for (const path of [folder, join(folder, 'tubo'), '/dev/zero']) {
    await t.rejects(readBackup(path, 'otto barche sul lago'), { message: /non è un file/ })
  }
})
