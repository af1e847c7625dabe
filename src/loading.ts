import { registerHooks, type ResolveFnOutput } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const ROOT = new URL('..', import.meta.url).href

/**
 * Lets the modules that are imported from now on load faster; without it everything works, later and in more memory.
 * It resolves what needs no search: our own files, which are imported by their full names (`package.json` has the same
 * folders under `imports`); files of packages that import each other as `.mjs`; those of drizzle-orm, all of which are
 * ES modules. Node would look for each on the disk and in a `package.json`: drizzle-orm's alone, with its 447 exports,
 * is read anew for some 1,600 imports, which takes 1.4 s and 190 MB of garbage, and the others take 0.13 s of 0.64
 * (Node 24.21).
 */
export function speedUpLoading (): void {
  const entries = new Map<string, ResolveFnOutput>()
  registerHooks({
    resolve (specifier, context, resolve) {
      const { parentURL = '' } = context
      const isOwn = !parentURL.includes('/node_modules/')
      if (isOwn && /^[#.].*\.ts$/.test(specifier)) {
        const to = specifier.startsWith('#') ? new URL(specifier.slice(1), ROOT) : new URL(specifier, parentURL)
        return { url: to.href, format: 'module-typescript', shortCircuit: true }
      }
      const end = parentURL.includes('/node_modules/drizzle-orm/') ? '.js' : '.mjs'
      if (!isOwn && specifier.startsWith('.') && specifier.endsWith(end)) {
        return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true }
      }
      const isPackage = /^[@a-z][^:]*$/.test(specifier) && context.conditions.includes('import')
      if (!isOwn || !isPackage) return resolve(specifier, context)
      // From any of our folders it is the same package.
      const known = entries.get(specifier)
      if (known) return known
      const found = { ...resolve(specifier, context), shortCircuit: true }
      entries.set(specifier, found)
      return found
    }
  })
}

/**
 * Gives back what loading has left behind. V8 would keep it as room to grow in: 15 to 35 MB of a server that has
 * nothing to do (Node 24.21). Nothing else runs in the meantime, some 65 ms.
 */
export function releaseMemory (): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: object) => void
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
