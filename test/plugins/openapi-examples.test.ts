import t from 'tap'
import type { Json } from '#test/fuzz/document.ts'
import { booking } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'

t.test('who tries an operation that takes a picture out with its example gets an answer', async (t) => {
  const { app, call, token } = await build(t)
  const authorization = `Bearer ${await token({ role: 'admin' })}`
  const { data } = (await call('POST', '/api/v1/prenotazioni', booking({}))).json<{ data: { id: number } }>()
  t.equal(data.id, 1, 'the booking of the examples')
  const { paths } = JSON.parse(JSON.stringify(app.swagger())) as {
    paths: Record<string, Record<string, {
      requestBody: { content: Record<string, { example: Record<string, Json> }> }
    }>>
  }
  for (const [method, path] of [
    ['POST', '/api/ocr'], ['POST', '/api/documents/upload'], ['PUT', '/api/v1/struttura/logo']
  ] as const) {
    const { example } = paths[path]![method.toLowerCase()]!.requestBody.content['application/json']!
    const answer = await app.inject({ method, url: path, headers: { authorization }, payload: example })
    t.equal(answer.statusCode, 200, `${path}: ${answer.body}`)
  }
})
