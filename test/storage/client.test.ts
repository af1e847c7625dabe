import t from 'tap'
import { noRadosgw, startRadosgw } from '#test/radosgw.ts'
import { clientRules } from './client-rules.ts'

t.test('the official client, files in a folder', async (t) => await clientRules(t))

t.test('the official client, files in an S3 bucket', { skip: noRadosgw }, async (t) => {
  const { environ } = await startRadosgw(t)
  await clientRules(t, environ)
})
