import t from 'tap'
import { attack } from './attack.ts'

t.test(
  'whatever the police does to a GenerateToken, the verdict is true, nobody is acquired twice and nobody is forgotten',
  (t) => attack(t, 'GenerateToken')
)
