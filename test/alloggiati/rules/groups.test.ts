import fc from 'fast-check'
import t from 'tap'
import { batches, groups } from '#src/alloggiati/rules/groups.ts'

const list = (...tipi: string[]) => tipi.map((tipo) => ({ tipo_alloggiato: tipo }))
const types = fc.array(
  fc.constantFrom('16', '17', '18', '19', '20', '99', '').map((tipo) => ({ tipo_alloggiato: tipo })),
  { maxLength: 30 }
)

t.test('a leader and the members that follow at once are one group', async (t) => {
  t.same(groups(list('16', '17', '19', '19', '18', '20', '16')), [[0], [1, 2, 3], [4, 5], [6]])
  t.same(groups(list('17', '17', '19')), [[0], [1, 2]])
  t.same(groups([]), [])
})

t.test('a member that follows nobody of its own stands alone, and so do those after it', async (t) => {
  t.same(groups(list('19', '19')), [[0], [1]])
  t.same(groups(list('17', '20', '19')), [[0], [1], [2]])
  t.same(groups(list('17', '19', '16', '19')), [[0, 1], [2], [3]])
})

t.test('groups hold every guest once, in order, whatever the types', async () => {
  fc.assert(fc.property(types, (ospiti) => {
    const flat = groups(ospiti).flat()
    return flat.length === ospiti.length && flat.every((value, index) => value === index)
  }))
})

t.test(
  'batches hold every guest once, in order, split no group and keep to the limit where a group allows it',
  async () => {
    fc.assert(
      fc.property(types, fc.integer({ min: 1, max: 6 }), (ospiti, max) => {
        const all = batches(ospiti, max)
        const whole = groups(ospiti)
        return (
          all.flat().every((value, index) => value === index) &&
          all.flat().length === ospiti.length &&
          whole.every((group) => all.some((batch) => group.every((index) => batch.includes(index)))) &&
          all.every(
            (batch) =>
              batch.length <= max || whole.some((group) => group.length === batch.length && group[0] === batch[0])
          )
        )
      })
    )
  }
)

t.test('batches are as full as the order allows', async (t) => {
  t.same(batches(list('16', '17', '19', '16'), 3), [[0, 1, 2], [3]])
  t.same(batches(list('16', '16', '17', '19'), 3), [[0, 1], [2, 3]])
  t.same(batches(list(...Array<string>(1001).fill('16'))).map(({ length }) => length), [1000, 1])
})
