import sharp from 'sharp'
import t from 'tap'
import type { ErrorBody } from '#schemas/common.ts'
import { fieldsAtFault } from '#test/bookings/samples.ts'
import { build, signIn, type Who } from '#test/helper.ts'
import { form, FORM_TYPE, type Part } from '#test/identity/form.ts'
import { jpeg, png, webp, withPlace } from '#test/plugins/images/pictures.ts'

const PATH = '/api/operators/pfp'
const { app, token } = await build(t, { PUBLIC_URL: 'https://locanda.example' })
const picture = await jpeg(800, 400)
const admin = await token({ name: 'capo', role: 'admin' })
const piero = (await signIn(app, 'piero', 'operator')).user.id

const send = (payload: Buffer, headers: Record<string, string> = {}) => app.inject({
  method: 'POST',
  url: PATH,
  payload,
  headers: { authorization: `Bearer ${admin}`, 'content-type': FORM_TYPE, ...headers }
})
const set = (userId: string, file: Buffer, filename = 'io.jpg') =>
  send(form([['userId', userId], ['file', file, filename]]))
const stored = async (id: string) =>
  (await app.storage.findByPrefix(app.db, 'avatars', `${id}.`)).map(({ name }) => name)

t.test('a picture is stored, small and without metadata, and its address stands with the user', async (t) => {
  const answer = await set(piero, picture)
  t.equal(answer.statusCode, 200)
  const url = `https://locanda.example/api/storage/avatars/${piero}.jpg`
  t.same(answer.json(), {
    success: true, message: 'Immagine del profilo salvata', path: `avatars/${piero}.jpg`, url, status: 200
  })
  const object = await app.storage.find(app.db, 'avatars', `${piero}.jpg`)
  const bytes = Buffer.concat(await (await app.storage.read(object!)).toArray() as Buffer[])
  t.match(await sharp(bytes).metadata(), { format: 'jpeg', width: 512, height: 256 })
  t.equal(object?.owner, piero)
  const users = await app.inject({ url: '/api/users', headers: { authorization: `Bearer ${admin}` } })
  const found = users.json<{ id: string, user_metadata: object }[]>().find(({ id }) => id === piero)
  t.same(found?.user_metadata, { name: 'piero', avatar_url: url })
  await set(piero, await withPlace('NOME-SEGRETO'))
  const next = await app.storage.find(app.db, 'avatars', `${piero}.jpg`)
  t.notOk(Buffer.concat(await (await app.storage.read(next!)).toArray() as Buffer[]).includes('NOME-SEGRETO'))
})

t.test('a new picture takes the place of the one before, whatever their formats', async (t) => {
  for (const [file, extension] of [[await png(), 'png'], [await webp(), 'webp'], [picture, 'jpg']] as const) {
    t.equal((await set(piero, file, 'x.gif')).statusCode, 200, 'the name of the file says nothing')
    t.same(await stored(piero), [`${piero}.${extension}`])
  }
})

t.test('only an administrator sets a picture', async (t) => {
  const operator = await token({ name: 'piero' } satisfies Who)
  const payload = form([['userId', piero], ['file', picture, 'io.jpg']])
  t.equal((await send(payload, { authorization: `Bearer ${operator}` })).statusCode, 403)
  t.equal((await send(payload, { authorization: 'Bearer x' })).statusCode, 401)
})

t.test('a user who is not there, or who does not work here, is a 404', async (t) => {
  const pending = (await signIn(app, 'in-attesa', 'pending')).user.id
  for (const id of ['6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11', pending]) {
    const answer = await set(id, picture)
    t.match(answer.json(), { status: 404, codice: 'UTENTE_NON_TROVATO' })
  }
  t.same(await stored(pending), [])
})

t.test('the picture goes with the user, however the user is deleted', async (t) => {
  for (const [name, soft] of [['ugo', false], ['ida', true]] as const) {
    const { user: { id } } = await signIn(app, name, 'operator')
    await set(id, picture)
    const answer = await app.inject({
      method: 'DELETE',
      url: `/auth/v1/admin/users/${id}`,
      headers: { authorization: `Bearer ${admin}` },
      payload: { should_soft_delete: soft }
    })
    t.equal(answer.statusCode, 200)
    t.same(await stored(id), [])
  }
  t.equal((await stored(piero)).length, 1)
})

t.test('every change is on record', async (t) => {
  await set(piero, picture)
  const [row] = await app.sql`
    select actor, object from audit_log where action = 'immagine_profilo' order by id desc limit 1`
  t.match(row, { actor: /^user:/, object: `user:${piero}` })
})

t.test('what is not an image is refused, and the picture before stays', async (t) => {
  const before = await stored(piero)
  for (const file of [Buffer.from('<svg/>'), Buffer.alloc(0), picture.subarray(0, picture.length / 2)]) {
    const answer = await set(piero, file)
    t.same(fieldsAtFault(answer), ['file'])
  }
  t.same(await stored(piero), before)
})

t.test('a file over 5 MiB is a 413, whether the form says its size or not', async (t) => {
  const large = Buffer.alloc(5 * 1024 * 1024 + 1, 1)
  t.match((await set(piero, large)).json(), { status: 413, codice: 'CONTENUTO_TROPPO_GRANDE' })
  const declared = await send(form([['userId', piero], ['file', picture, 'io.jpg']]), {
    'content-length': String(1e12)
  })
  t.equal(declared.statusCode, 413, 'before a byte of it is read')
  t.same(fieldsAtFault(await set(piero, large.subarray(1))), ['file'], 'at the bound it is looked at')
})

t.test('a body that is no form is a 415', async (t) => {
  for (const type of ['application/json', 'text/plain', 'multipart/mixed; boundary=x', 'multipart/form-data']) {
    const answer = await send(Buffer.from('{}'), { 'content-type': type })
    t.equal(answer.statusCode, 415, type)
    t.match(answer.json(), { error: /multipart\/form-data/ })
  }
})

t.test('a form that is not as it must be is a 400 that names the field', async (t) => {
  const file: Part = ['file', picture, 'io.jpg']
  const user: Part = ['userId', piero]
  const cases: [string, Part[], string][] = [
    ['no user', [file], 'userId'],
    ['no file', [user], 'file'],
    ['a user that is no id', [['userId', 'x'], file], 'userId'],
    ['a text for a file', [user, ['file', 'testo']], 'file'],
    ['a file for a user', [['userId', 'x', 'x.txt']], 'userId'],
    ['a field of nobody', [user, file, ['altro', 'x']], 'altro'],
    ['two users', [user, user, file], 'userId'],
    ['two files', [user, file, file], ''],
    ['a name of the prototype', [user, ['__proto__', 'x'], file], ''],
    ['a constructor', [user, ['constructor', 'x'], file], ''],
    ['a user that is too long', [['userId', 'x'.repeat(5000)], file], 'userId'],
    ['ten thousand fields', [user, ...Array.from({ length: 10_000 }, (_, n): Part => [`f${n}`, 'x']), file], '']
  ]
  for (const [what, parts, campo] of cases) {
    const answer = await send(form(parts))
    t.equal(answer.statusCode, 400, what)
    t.same(answer.json<ErrorBody>().dettagli?.map((each) => each.campo), [campo], what)
  }
})

t.test('a form without an end is a 400', async (t) => {
  const whole = form([['userId', piero], ['file', picture, 'io.jpg']])
  for (const payload of [whole.subarray(0, -20), whole.subarray(0, 60), Buffer.from('x'), Buffer.alloc(0)]) {
    t.equal((await send(payload)).statusCode, 400)
  }
})
