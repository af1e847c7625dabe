import t from 'tap'
import { SCHEDINA_FIELDS } from '#schemas/schedina.ts'
import { STAY_FIELDS } from '#src/alloggiati/rules/fields.ts'
import type { Rule } from '#src/alloggiati/rules/rule.ts'
import { RULES } from '#src/alloggiati/rules/rules.ts'
import { CASES, type Example } from './cases.ts'
import { judge } from './samples.ts'

t.test('every rule has an id of its own, a field of the API, a text and a source', async (t) => {
  t.equal(new Set(RULES.map(({ id }) => id)).size, RULES.length)
  const known: readonly string[] = [...SCHEDINA_FIELDS, ...STAY_FIELDS]
  for (const { id, field, message, source } of RULES) {
    t.ok(known.includes(field), `${id}: ${field}`)
    t.ok(message.length > 10 && source.length > 5, id)
  }
})

t.test('only what a host may rightly leave as it is warns; everything else blocks', async (t) => {
  t.same(RULES.filter(({ severity }) => severity === 'warning').map(({ id }) => id), [
    'permanenza-discordante', 'permanenza-lunga', 'cognome-adattato', 'nome-adattato', 'eta-insolita',
    'responsabile-minorenne', 'stato-nascita-ricavato', 'provincia-ricavata', 'numero-documento-insolito',
    'documento-superfluo'
  ])
})

t.test('no case is about a rule that does not exist', async (t) => {
  t.same(Object.keys(CASES).filter((id) => !RULES.some((rule) => rule.id === id)), [])
})

for (const rule of RULES) {
  t.test(`${rule.id}: strikes where it should and keeps silent where it should`, async (t) => {
    const { strikes = [], silent = [] } = CASES[rule.id] ?? {}
    t.ok(strikes.length > 0 && silent.length > 0, 'has cases for both outcomes')
    strikes.forEach((example, index) => t.same(struck(rule, example), [example.ospite ?? 0], `strikes ${index}`))
    silent.forEach((example, index) => t.same(struck(rule, example), [], `silent ${index}`))
  })
}

/** The guests on whom the rule remarked, told from other rules by its text. */
function struck (rule: Rule, { ospiti, stay, fileUnico, maxRows }: Example): number[] {
  const answer = judge(ospiti, stay, { ...(fileUnico ? { fileUnico } : {}), ...(maxRows ? { maxRows } : {}) })
  const parts = rule.message.split(/\{\w+\}/)
  const found = (rule.severity === 'error' ? answer.errors : answer.warnings).filter(({ campo, messaggio }) => (
    campo === rule.field && parts.every((part) => messaggio.includes(part)) && messaggio.startsWith(parts[0] ?? '')))
  if (found.some(({ messaggio }) => /[{}]|undefined/.test(messaggio))) {
    throw new Error(`Unfilled text: ${found[0]?.messaggio}`)
  }
  if (rule.severity === 'error' && found.length > 0 && (answer.valid || answer.records)) {
    throw new Error('An error left the list valid')
  }
  return found.map(({ ospite }) => ospite)
}
