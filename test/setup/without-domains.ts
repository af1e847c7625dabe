import { registerHooks } from 'node:module'

/*
 * tap follows every promise, to tell which test an error belongs to that nobody catches. Here the file that runs is
 * enough (`group.ts`).
 */
registerHooks({
  load (url, context, load) {
    if (!url.includes('/node_modules/async-hook-domain/')) return load(url, context)
    return { format: 'module', source: 'export class Domain { destroy () {} }', shortCircuit: true }
  }
})
