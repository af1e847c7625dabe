import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { build } from '#test/helper.ts'
import { png } from '#test/plugins/images/pictures.ts'
import { lettering } from './lettering.ts'

const LOGO = '/api/v1/struttura/logo'
const server = await build(t)
const { app, token, dataDir, logs } = server
const { newBooking, generate, download } = lettering(server)
const admin = { authorization: `Bearer ${await token({ name: 'ada', role: 'admin' })}` }

const putLogo = async (image: Buffer) => (await app.inject({
  method: 'PUT', url: LOGO, headers: admin, payload: { base64Image: image.toString('base64') }
})).statusCode

const HARMS: [what: string, harm: (path: string) => void][] = [
  ['lost', (path) => rmSync(path)],
  ['overwritten', (path) => writeFileSync(path, 'altro')]
]
for (const [what, harm] of HARMS) {
  t.test(`a logo whose file is ${what} keeps no letter from being made: a warning says it is without`, async (t) => {
    t.equal(await putLogo(await png()), 200)
    const [logo] = await app.storage.findByPrefix(app.db, 'letters', 'struttura/')
    harm(join(dataDir, 'files', logo!.id.slice(0, 2), logo!.id))
    const from = logs.length
    const id = await newBooking()
    const made = await generate(id)
    t.equal(made.statusCode, 201)
    t.match(JSON.parse(String(made.headers['x-pdf-warnings'])), [{ codice: 'IMMAGINE_MANCANTE', messaggio: /logo/ }])
    t.notMatch((await download(id)).rawPayload.toString('latin1'), /\/Subtype \/Image/)
    t.match(logs.slice(from).filter(({ level }) => Number(level) >= 40), [{ object: logo!.id }], 'one line says which')
    t.equal(await putLogo(await png()), 200, 'another one takes its place')
  })
}

t.test('a logo that was sealed with a key that is no more keeps no letter from being made', async (t) => {
  t.equal(await putLogo(await png()), 200)
  await app.sql`update objects set wrapped_key = overlay(wrapped_key placing '\\x00000000'::bytea from 20 for 4)
    where bucket = 'letters' and name like 'struttura/%'`
  const made = await generate(await newBooking())
  t.equal(made.statusCode, 201)
  t.match(made.headers['x-pdf-warnings'], /IMMAGINE_MANCANTE/)
})
