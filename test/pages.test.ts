import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDERS = ['.deploy', '.github', 'drizzle', 'fixtures', 'schemas', 'src', 'test']

/** All Markdown files of the project by path, without code blocks. */
const pages = ['README.md', ...FOLDERS.flatMap(markdown)].map((path) => ({
  path,
  text: read(path).replace(/^```[^]*?^```$/gm, '')
}))

t.test('every link in Markdown has an existing file and heading', async (t) => {
  const broken = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
      .filter(([, file, heading]) => !leads(file === '' ? path : join(dirname(path), file!), heading))
      .map(([link]) => `${path}: ${link}`)
  )
  t.same(broken, [])
  t.ok(pages.length > 8, 'the pages are found')
})

t.test('every project path named in Markdown exists', async (t) => {
  // `notes` is the invented area of the example.
  const missing = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/`((?:src|test|schemas|drizzle|fixtures)\/[\w./-]+)`/g)]
      .filter(([, named]) => !/\/notes?[./]/.test(named!) && !existsSync(join(ROOT, named!)))
      .map(([, named]) => `${path}: ${named}`)
  )
  t.same(missing, [])
})

/** Maximum lines of a page, by path. */
const LIMITS: readonly [path: RegExp, lines: number][] = [
  [/^README\.md$/, 150], [/CONTRIBUTING\.md$/, 200], [/^src\/[a-z]+\/README\.md$/, 120]
]
const HEADINGS = ['Does', 'Promises', 'The way through its files', 'Decisions']

t.test('pages stay short, and the pages of areas have the same headings', async (t) => {
  const wrong = pages.flatMap(({ path }) => {
    const text = read(path)
    const lines = text.split('\n').length - 1
    const max = LIMITS.find(([pattern]) => pattern.test(path))?.[1] ?? Infinity
    const found = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading).join()
    const isArea = /^src\/[a-z]+\/README/.test(path)
    return lines > max || (isArea && found !== HEADINGS.join()) ? [`${path}: ${lines} lines, ${found}`] : []
  })
  t.same(wrong, [])
})

t.test('every variable in the table of the README is in .env.example', async (t) => {
  const readme = read('README.md')
  const named = [...section(readme, 'Configuration').matchAll(/^\| (`[^|]*)\|/gm)]
    .flatMap(([, cell]) => [...cell!.matchAll(/`([A-Z0-9_]+)`/g)].map(([, name]) => name!))
  const known = read('.env.example').split('\n').map((line) => line.split('=', 1)[0])
  t.same(named.filter((name) => !known.includes(name)), [])
  t.ok(named.length > 20, 'the table is found')
})

t.test('the journeys and the glossary of src/README.md do not exceed their limits', async (t) => {
  const plan = read('src/README.md')
  const journeys = section(plan, 'Three journeys').split(/^### /m).slice(1)
  const lengths = journeys.map((journey) => [...journey.matchAll(/^\d+\. /gm)].length)
  t.equal(lengths.length, 3)
  t.ok(lengths.every((length, at) => length > 0 && length <= [25, 12, 10][at]!), String(lengths))
  const words = [...section(plan, 'Words').matchAll(/^\| (?!Word |-)(\w[^|]*) \|/gm)].map(([, word]) => word)
  t.ok(words.length > 30 && words.length <= 40, `${words.length} words`)
  t.equal(new Set(words).size, words.length, 'each word is listed once')
})

t.test('the page of dependencies lists exactly the packages of package.json', async (t) => {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read('package.json'))
  const page = read('.github/dependencies.md')
  const named = (heading: string) =>
    [...section(page, heading).matchAll(/^\| (`[^|]*)\|/gm)]
      .flatMap(([, packages]) => [...packages!.matchAll(/`([^`]+)`/g)].map(([, name]) => name))
      .sort()
  t.same(named('In production'), Object.keys(dependencies).sort())
  t.same(named('Optional'), Object.keys(optionalDependencies).sort())
  t.same(named('In development'), Object.keys(devDependencies).sort())
})

t.test('the lock file pins each package by hash and names no registry', async (t) => {
  const { '': _, ...packages } = JSON.parse(read('package-lock.json')).packages as Record<string, LockedPackage>
  const wrong = Object.entries(packages).filter(([, { resolved, integrity }]) =>
    resolved !== undefined || !integrity?.startsWith('sha512-'))
  t.same(wrong.map(([name]) => name), [])
  t.ok(Object.keys(packages).length > 500, 'the packages are found')
})

interface LockedPackage { resolved?: string, integrity?: string }

function read (path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function markdown (folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join(folder, path))
}

/** The text under a second-level heading. */
function section (text: string, heading: string): string {
  return text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
}

function leads (path: string, heading: string | undefined): boolean {
  if (!existsSync(join(ROOT, path))) return false
  return heading === undefined || headings(read(path)).includes(heading)
}

/** The anchors of a page on the web. */
function headings (text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)]
    .map(([, title]) => title!.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'))
}
