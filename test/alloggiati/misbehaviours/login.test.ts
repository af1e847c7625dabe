import t from 'tap'
import { attack } from './attack.ts'

t.test(
  'with every misbehaviour at a GenerateToken the verdict is true, and no guest is acquired twice or forgotten',
  (t) => attack(t, 'GenerateToken')
)

t.test(
  'with every misbehaviour at a Test the verdict is true, and no guest is acquired twice or forgotten',
  (t) => attack(t, 'Test')
)
