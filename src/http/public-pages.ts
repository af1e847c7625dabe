import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    /** Names a page that anybody may read, e.g. `/docs`; called where the page is registered. */
    addPublicPage (path: string): void
    /** The paths of the pages, in the order in which they were named. */
    publicPages: ReadonlySet<string>
  }
}

/** sitemaps.org: URLs in one sitemap. */
const PAGES_MAX = 50_000

/** The list of public pages, from which the sitemap is made. */
export default fp(async function publicPages (app) {
  const pages = new Set<string>()
  app.decorate('publicPages', pages)
  app.decorate('addPublicPage', (path) => {
    if (!path.startsWith('/')) throw new Error(`The path of a public page begins with a slash: ${path}`)
    if (pages.size === PAGES_MAX && !pages.has(path)) throw new Error(`There can be ${PAGES_MAX} public pages, no more`)
    pages.add(path)
  })
}, { name: 'public-pages' })
