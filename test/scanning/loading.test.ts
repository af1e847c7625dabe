import { readFileSync } from 'node:fs'
import t from 'tap'

const ROOT = new URL('../../', import.meta.url)
/** An import that is left when the types are taken away. */
const IMPORT = /^(?:import|export)\s+(?!type\b)(?:[^'"]*?\sfrom\s+)?'([^']+)'/gm

/** The files of the project, and the packages, that a module loads by its imports alone. */
function loadedBy (first: string): Set<string> {
  const seen = new Set<string>()
  const rest = [new URL(first, ROOT)]
  for (let file = rest.pop(); file !== undefined; file = rest.pop()) {
    if (seen.has(file.href)) continue
    seen.add(file.href)
    for (const [, name] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      if (name!.startsWith('.')) rest.push(new URL(name!, file))
      else if (name!.startsWith('#')) rest.push(new URL(name!.slice(1), ROOT))
      else seen.add(name!)
    }
  }
  return seen
}

t.test('a server that nobody gives a picture loads no reader, no weights and no decoder', async (t) => {
  const loaded = [...loadedBy('src/app.ts')]
  t.ok(loaded.some((name) => name.endsWith('/src/scanning/ocr/read-document.ts')), 'the walk gets there')
  const heavy = /^(sharp|tesseract\.js|piscina)$|\/reader\/network\.ts$|\/text\/thread\.ts$/
  t.same(loaded.filter((name) => heavy.test(name)), [])
})
