import fc from 'fast-check'
import t from 'tap'
import { groupsOf } from '#src/alloggiati/rules/groups.ts'

const types = fc.array(fc.constantFrom('16', '17', '18', '19', '20', '99', ''), { maxLength: 30 })

t.test('a leader and the members that follow at once are one group', async (t) => {
  t.same(groupsOf(['16', '17', '19', '19', '18', '20', '16']), [[0], [1, 2, 3], [4, 5], [6]])
  t.same(groupsOf(['17', '17', '19']), [[0], [1, 2]])
  t.same(groupsOf([]), [])
})

t.test('a member that does not follow its leader stands alone, and so do those after it', async (t) => {
  t.same(groupsOf(['19', '19']), [[0], [1]])
  t.same(groupsOf(['17', '20', '19']), [[0], [1], [2]])
  t.same(groupsOf(['17', '19', '16', '19']), [[0, 1], [2], [3]])
})

t.test('groups hold every guest once, in order, whatever the types', async () => {
  fc.assert(fc.property(types, (list) => {
    const flat = groupsOf(list).flat()
    return flat.length === list.length && flat.every((value, index) => value === index)
  }))
})
