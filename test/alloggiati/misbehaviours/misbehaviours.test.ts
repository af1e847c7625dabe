import t from 'tap'
import { attack } from './attack.ts'

for (const operation of ['GenerateToken', 'Test', 'Send'] as const) {
  t.test(
    `with every misbehaviour at a ${operation} the verdict is true, and no guest is acquired twice or forgotten`,
    (t) => attack(t, operation)
  )
}
