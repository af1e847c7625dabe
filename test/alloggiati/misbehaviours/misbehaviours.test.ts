import t from 'tap'
import { attack } from './attack.ts'

for (const operation of ['GenerateToken', 'Test', 'Send'] as const) {
  t.test(
    `when the police misbehave at ${operation}, the outcome is correct, and no guest is acquired twice or lost`,
    (t) => attack(t, operation)
  )
}
