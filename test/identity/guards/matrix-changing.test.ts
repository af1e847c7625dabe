import t from 'tap'
import { checkGuards, READING } from './matrix.ts'

t.test(
  'routes that change something accept exactly their callers, with any credentials and any spelling of the address',
  (t) => checkGuards(t, (method) => !READING.has(method))
)
