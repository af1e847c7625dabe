import fc from 'fast-check'
import t from 'tap'
import type { Described } from './document.ts'
import { requests } from './requests.ts'
import { KINDS } from './values.ts'

t.test('the headers that the description names are sent, as they should be and as they should not', async (t) => {
  const schema = { type: 'string', maxLength: 60 }
  const operation: Described = {
    method: 'GET',
    path: '/prova',
    operation: {
      operationId: 'prova',
      parameters: ['If-Match', 'Range'].map((name) => ({ name, in: 'header', schema, example: `of ${name}` })),
      responses: {}
    }
  }
  for (const kind of KINDS) {
    const made = fc.sample(requests(operation, kind, () => ({})), { numRuns: 300, seed: 1 })
    for (const name of ['If-Match', 'Range']) {
      const values = made.map(({ headers }) => headers[name.toLowerCase()])
      t.ok(values.includes(`of ${name}`), `${kind}: ${name} by its example`)
      t.ok(values.includes(undefined), `${kind}: without ${name}`)
      if (kind !== 'valid') t.ok(values.includes('*'), `${kind}: a strange ${name}`)
    }
    t.notOk(made.some(({ headers }) => Object.values(headers).some((value) => /[^\x20-\x7e]/.test(value))), 'sendable')
  }
})
