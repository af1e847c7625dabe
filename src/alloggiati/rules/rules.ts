import { DOCUMENT_RULES } from './document-rules.ts'
import { LIST_RULES } from './list-rules.ts'
import { PERSON_RULES } from './person-rules.ts'
import { PLACE_RULES } from './place-rules.ts'
import type { Rule } from './rule.ts'
import { STAY_RULES } from './stay-rules.ts'

/** Every rule of the police record, in the order in which remarks on one guest are given. */
export const RULES: readonly Rule[] = [...STAY_RULES, ...LIST_RULES, ...PERSON_RULES, ...PLACE_RULES, ...DOCUMENT_RULES]
