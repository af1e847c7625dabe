import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ENGLISH } from './budget.ts'
import { ROOT } from './lint.ts'

/* A sentence names its subject, so it does not begin with a relative clause. Questions may. */

const BEGINS = /^(?:What(?:ever)?|Who(?:ever|se|m)?|Of|Where(?:ver)?|Nobody|Nothing|Somebody|Something)\b(?!.*\?$)/
const SOURCES = ['{src,schemas,drizzle,test,.ci}/**/*.{ts,sql,cjs,mjs}', '.*.{cjs,mjs}', '.env.example']
const PAGES = ['*.md', '{src,test,drizzle,fixtures,.github,.deploy}/**/*.md']

/** A migration cannot be changed any more. The other exception is the example below. */
const EXCEPTIONS = ['Where the role may not create the extension, the search works without', 'Who asks is told.']

function sentences (text: string): string[] {
  return text.replace(/`[^`]*`/g, 'X').replace(/\s+/g, ' ').split(/(?<=[.:;!?]) (?=[A-Z])/)
    .map((sentence) => sentence.trim())
}

/** The comments of a file, without their tags, and the titles of its tests. */
function * prose (source: string): Generator<string> {
  for (const [, block = ''] of source.matchAll(/\/\*\*?([^]*?)\*\//g)) {
    yield * block.replace(/^\s*\* ?/gm, '').split(/\n\s*\n|@\w+(?: \S+)?/)
  }
  for (const [lines] of source.matchAll(/(?:^[ \t]*(?:\/\/|--|#) .*\n)+/gm)) yield lines.replace(/^\s*(?:\/\/|--|#) /gm, '')
  for (const [, , title = ''] of source.matchAll(/\bt\.test\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g)) {
    yield title.charAt(0).toUpperCase() + title.slice(1)
  }
}

function * paragraphs (page: string): Generator<string> {
  for (const text of page.replace(/^```[^]*?^```/gm, '').split(/\n\s*\n|\n *[-*#] |\|/)) yield text.replace(/^[-*#> ]+/, '')
}

function find (patterns: readonly string[], read: (text: string) => Iterable<string>): string[] {
  return globSync([...patterns], { cwd: ROOT, exclude: (path) => path.includes('node_modules') }).flatMap((file) =>
    [...read(readFileSync(join(ROOT, file), 'utf8'))].flatMap(sentences)
      .filter((sentence) => BEGINS.test(sentence) && !EXCEPTIONS.some((exception) => sentence.startsWith(exception)))
      .map((sentence) => `${file}: ${sentence}`))
}

t.test('sentences of comments, test titles and pages begin with their subject', async (t) => {
  const found = [...find(SOURCES, prose), ...find(PAGES, paragraphs)]
  t.ok(found.length <= ENGLISH, `${found.length} of ${ENGLISH}`, { found })
})

t.test('a sentence that begins with a relative clause is found in comments, titles and pages', async (t) => {
  const source = "/** Who asks is told. */\n// Of a guest nothing stays.\nt.test('what is sent is kept', () => {})\n"
  t.equal([...prose(source)].flatMap(sentences).filter((sentence) => BEGINS.test(sentence)).length, 3)
  t.match([...paragraphs('A page.\n\n- Whoever comes.\n')].at(-1), BEGINS)
})
