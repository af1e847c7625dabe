import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    /** Adds a page that anyone may read, e.g. `/docs`. Call it next to the route of the page. */
    addPublicPage (path: string): void
    /** The paths of the public pages, in the order of their registration. */
    publicPages: ReadonlySet<string>
  }
}

/** Maximum URLs of one sitemap (sitemaps.org). */
const PAGES_MAX = 50_000

/** The public pages, which the sitemap lists. */
export default fp(async function publicPages (app) {
  const pages = new Set<string>()
  app.decorate('publicPages', pages)
  app.decorate('addPublicPage', (path) => {
    if (!path.startsWith('/')) throw new Error(`The path of a public page begins with a slash: ${path}`)
    if (pages.size === PAGES_MAX && !pages.has(path)) throw new Error(`There can be at most ${PAGES_MAX} public pages`)
    pages.add(path)
  })
}, { name: 'public-pages' })
