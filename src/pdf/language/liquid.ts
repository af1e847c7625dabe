import { type Context, type Emitter, Liquid, type Template, TypeGuards } from 'liquidjs'
import { type Data, valueAt } from '../data.ts'
import { type Place, type Problem, TemplateError } from '../errors.ts'
import { checkLimit, SOURCE_MAX } from '../pdf-limits.ts'
import { restrict } from './filters.ts'
import type { Language } from './formats.ts'

/** Liquid's error messages, each with a code and an Italian text. `$1` is the first group of the pattern. */
const MESSAGES: [pattern: RegExp, code: Problem, text: string][] = [
  [/^undefined filter: ([^\s,]+)/, 'ISTRUZIONE_SCONOSCIUTA', 'filtro «$1» sconosciuto'],
  [/^tag "?([^"]+)"? not found/, 'ISTRUZIONE_SCONOSCIUTA', 'istruzione «$1» sconosciuta'],
  [/^tag "?(.+?)"? not closed/, 'SINTASSI_NON_VALIDA', 'istruzione «$1» non chiusa'],
  [/^output "?(.+?)"? not closed/, 'SINTASSI_NON_VALIDA', 'manca la chiusura di «$1»'],
  [/^raw "?(.+?)"? not closed/, 'SINTASSI_NON_VALIDA', 'istruzione «$1» non chiusa'],
  [/^parse length limit exceeded/, 'LIMITE_SUPERATO', 'il modello è troppo lungo'],
  [/^template render limit exceeded/, 'LIMITE_SUPERATO', 'il modello chiede troppo tempo'],
  [/^memory alloc limit exceeded/, 'LIMITE_SUPERATO', 'il modello produce troppo testo'],
  [/^unexpected token (.+?),/, 'SINTASSI_NON_VALIDA', 'non ci si aspettava $1'],
  [/Maximum call stack/, 'LIMITE_SUPERATO', 'troppi livelli, uno dentro l’altro']
]

interface TokenError { token?: { getPosition (): number[] }, originalError?: unknown, message: string }

/** Converts an error of Liquid into a `TemplateError`, with an Italian message and the position. */
function templateError (err: unknown): TemplateError {
  const { token, originalError, message } = err as TokenError
  const [riga, colonna] = token?.getPosition() ?? []
  const place: Place | undefined = riga === undefined || colonna === undefined ? undefined : { riga, colonna }
  const own = err instanceof TemplateError ? err : originalError
  if (own instanceof TemplateError) return own.place ? own : new TemplateError(own.code, own.message, place)
  for (const [pattern, code, text] of MESSAGES) {
    const match = pattern.exec(message)
    if (match) return new TemplateError(code, text.replace('$1', (match[1] ?? '').trim()), place)
  }
  return new TemplateError('SINTASSI_NON_VALIDA', 'istruzione scritta male', place)
}

/** An expanded template with its source map. */
interface Expanded {
  text: string
  /** The template position that produced the character at `offset`. */
  placeOf (offset: number): Place
  /** Variables of the template without a value in the data. */
  missing: string[]
}

/** One source map entry: output offset, template offset, and whether the piece is literal template text. */
interface Mark { at: number, from: number, copied: boolean }

/** Liquid's own limits: milliseconds of rendering, and number of allocated characters and items. */
const RENDER_LIMIT_MS = 2_000
const MEMORY_LIMIT = 5_000_000

/**
 * Fills the data into a template. Values are escaped, so data never become markup. Liquid reads no files, calls no
 * functions of the data, reads own properties only, and stops at its limits.
 * @throws TemplateError
 */
export function expand (source: string, data: Data, language: Language): Expanded {
  const liquid = engine(source, language)
  const marks: Mark[] = []
  mark(liquid, marks)
  try {
    const templates = liquid.parse(source)
    const text = String(liquid.renderSync(templates, data))
    const missing = namesIn(liquid, templates).filter((path) => valueAt(data, path) === undefined)
    return { text, placeOf: (offset) => placeIn(source, marks, offset), missing }
  } catch (err) {
    throw templateError(err)
  }
}

/**
 * The data paths that a template uses: `ospite.nome`, `righe`.
 * @throws TemplateError
 */
export function variablesOf (source: string): string[] {
  const liquid = engine(source, 'it')
  try {
    return [...new Set([...namesIn(liquid, liquid.parse(source)), ...listsIn(source)])].sort()
  } catch (err) {
    throw templateError(err)
  }
}

/** Paths in the `data` attribute of tables and charts, which Liquid does not evaluate. */
function listsIn (source: string): string[] {
  return [...source.matchAll(/<(?:table|bar-chart|line-chart)\b[^>]*?\sdata="([\w.-]+)"/g)].map(([, path]) => path!)
}

function engine (source: string, language: Language): Liquid {
  checkLimit('source', source.length)
  const liquid = new Liquid({
    // Without these templates, Liquid would read templates from the working directory.
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    outputEscape: 'escape',
    parseLimit: SOURCE_MAX,
    renderLimit: RENDER_LIMIT_MS,
    memoryLimit: MEMORY_LIMIT,
    cache: false
  })
  restrict(liquid, language)
  return liquid
}

/** Hooks into Liquid's renderer to record the source map, and to check the limit on expanded text. */
function mark (liquid: Liquid, marks: Mark[]): void {
  const { renderer } = liquid
  const inherited = renderer.renderTemplates
  let outermost: Emitter | undefined
  renderer.renderTemplates = function (templates: Template[], context: Context, emitter?: Emitter) {
    const watched = templates.map((template): Template => ({
      token: template.token,
      * render (ctx, into): Generator<unknown, unknown, string> {
        const written = into.buffer
        outermost ??= into
        checkLimit('expanded', written.length)
        const { token } = template
        const copied = TypeGuards.isHTMLToken(token)
        if (into === outermost) {
          marks.push({ at: written.length, from: token.begin + (copied ? token.trimLeft : 0), copied })
        }
        return yield template.render(ctx, into)
      }
    }))
    return inherited.call(renderer, watched, context, emitter)
  }
}

/** Maps an output offset to line and column in the template, both from 1. */
function placeIn (source: string, marks: Mark[], offset: number): Place {
  const { at, from, copied } = marks.findLast((mark) => mark.at <= offset) ?? { at: 0, from: 0, copied: true }
  const before = source.slice(0, from + (copied ? offset - at : 0))
  return { riga: before.split('\n').length, colonna: before.length - before.lastIndexOf('\n') }
}

function namesIn (liquid: Liquid, templates: Template[]): string[] {
  const named = liquid.globalFullVariablesSync(templates)
  return [...new Set(named.map((path) => path.replace(/\[(\d+)\]/g, '.$1')))]
    .filter((path) => /^[\w.-]+$/.test(path) && !/\.(size|first|last)$/.test(path))
}
